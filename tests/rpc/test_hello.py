import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from promptkit_rpc import __version__
from promptkit_rpc.rpc import capabilities, hello
from promptkit_rpc.rpc.codes import RpcError
from promptkit_rpc.rpc.hello import negotiate
from promptkit_rpc.rpc.messages import MAX_NESTING
from promptkit_rpc.rpc.protocol_hash import SCHEMA_HASH

HEAVY = [
    "argparse",
    "asyncio",
    "attr",
    "attrs",
    "cattrs",
    "httpx",
    "inspect",
    "jinja2",
    "logging",
    "lsprotocol",
    "msgspec",
    "pathlib",
    "pygls",
    "subprocess",
    "typing",
    "yaml",
]


def ours(**options: Any) -> dict[str, Any]:
    return {"initializationOptions": {"promptkit": options}}


def refusal(params: dict[str, Any]) -> RpcError:
    with pytest.raises(RpcError) as caught:
        negotiate(params)
    assert caught.value.code == -32602
    return caught.value


def test_the_result_says_version_schema_and_capabilities() -> None:
    """R-03: each capability is an object."""
    result = negotiate({"capabilities": {}}).result
    assert result["serverInfo"] == {"name": "promptkit-rpc", "version": __version__}
    promptkit = result["capabilities"]["experimental"].pop("promptkit")
    assert result["capabilities"] == {"experimental": {}}
    assert (promptkit.pop("protocolVersion"), promptkit.pop("schemaHash")) == (1, SCHEMA_HASH)
    assert set(promptkit) >= {"continuation", "coordination", "groups", "engines", "streaming"}
    assert all(type(capability) is dict for capability in promptkit.values())


def test_text_documents_are_served_to_clients_that_have_some() -> None:
    """R-03: whole documents, in UTF-16 positions as every editor has them."""
    client = {"textDocument": {}, "general": {"positionEncodings": ["utf-8", "utf-16"]}}
    greeted = negotiate({"capabilities": client})
    served = greeted.result["capabilities"]
    assert greeted.text_documents
    assert served["textDocumentSync"]["openClose"] is True
    assert served["textDocumentSync"]["change"] == 1
    assert served["positionEncoding"] == "utf-16"
    without = negotiate({"capabilities": {"workspace": {}}})
    assert not without.text_documents
    assert "textDocumentSync" not in without.result["capabilities"]


def test_params_may_be_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """X-03: the root is then the working directory."""
    monkeypatch.chdir(tmp_path)
    greeted = negotiate({})
    assert (greeted.root, greeted.config, greeted.process_id) == (str(tmp_path), None, None)


@pytest.mark.parametrize("versions", [[1], [7, 1], [1, 1, 0], None])
def test_the_highest_common_version_is_spoken(versions: Any) -> None:
    """R-03: any if the client names none."""
    result = negotiate(ours(protocolVersions=versions)).result
    assert result["capabilities"]["experimental"]["promptkit"]["protocolVersion"] == 1


def test_of_several_common_versions_the_highest_is_spoken(monkeypatch: pytest.MonkeyPatch) -> None:
    """R-03."""
    monkeypatch.setattr(capabilities, "PROTOCOL_VERSIONS", (1, 2, 3))
    result = negotiate(ours(protocolVersions=[1, 2, 9])).result
    assert result["capabilities"]["experimental"]["promptkit"]["protocolVersion"] == 2


@pytest.mark.parametrize("versions", [[], [2, 3]])
def test_without_a_common_version_both_lists_are_named(versions: list[int]) -> None:
    """X-03."""
    error = refusal(ours(protocolVersions=versions))
    assert str(versions) in error.message
    assert "this server [1]" in error.message
    assert (error.data["offered"], error.data["supported"]) == (versions, [1])


@pytest.mark.parametrize(
    ("params", "named"),
    [
        (ours(protocolVersion=1), "protocolVersion"),
        (ours(Root="/x"), "Root"),
        (ours(protocolVersions=1), "protocolVersions"),
        (ours(protocolVersions=[True]), "protocolVersions"),
        (ours(protocolVersions=["1"]), "protocolVersions"),
        (ours(protocolVersions=[1.0]), "protocolVersions"),
        (ours(root=5), "root"),
        (ours(root=""), "root"),
        (ours(root="a\0b"), "root"),
        (ours(config=["x"]), "config"),
        ({"initializationOptions": {"promptkit": "x"}}, "promptkit"),
        ({"initializationOptions": {"promptkit": [1]}}, "promptkit"),
        ({"rootUri": 5}, "rootUri"),
        ({"rootUri": "file:///a%00b"}, "NUL"),
        ({"rootPath": {}}, "rootPath"),
        ({"workspaceFolders": {}}, "workspaceFolders"),
        ({"workspaceFolders": ["file:///a"]}, "workspaceFolders"),
        ({"workspaceFolders": [{"uri": 1}]}, "workspaceFolders"),
        ({"capabilities": "x"}, "capabilities"),
        ({"processId": "5"}, "processId"),
        ({"processId": True}, "processId"),
    ],
)
def test_a_field_that_cannot_be_used_is_named(params: dict[str, Any], named: str) -> None:
    """X-03, SEC-4: unknown fields of ours and wrong types."""
    error = refusal(params)
    assert named in error.message
    assert error.data == {"kind": "requestInvalid", "retryable": False}


def test_everything_else_is_accepted_as_editors_send_it() -> None:
    """X-03: empty arrays of Lua, nulls, options of others, fields of later versions."""
    editors: list[dict[str, Any]] = [
        {"capabilities": None, "initializationOptions": None, "rootUri": None, "rootPath": ""},
        {"capabilities": [], "initializationOptions": [], "workspaceFolders": []},
        {"initializationOptions": {"promptkit": [], "other": {"a": 1}}, "trace": "verbose"},
        {"initializationOptions": "a string", "clientInfo": {"name": "x"}, "locale": "de"},
        {"capabilities": {"textDocument": [], "general": []}, "workspaceFolders": None},
        ours(_meta={"anything": [1]}),
    ]
    for params in editors:
        assert negotiate(params).root


ROOTS: list[tuple[dict[str, Any], str]] = [
    ({"rootPath": "/path"}, "/path"),
    ({"rootPath": "/path", "rootUri": "file:///uri"}, "/uri"),
    ({"rootUri": "file:///uri", "workspaceFolders": [{"uri": "file:///one"}]}, "/one"),
    ({"workspaceFolders": [{"uri": "file:///one"}, {"uri": "file:///two"}]}, "/one"),
    ({"workspaceFolders": [{"uri": "vscode-vfs://x/y"}, {"uri": "file:///two"}]}, "/two"),
    ({"rootUri": "untitled:x", "rootPath": "/path"}, "/path"),
    ({"rootUri": "file:///uri", **ours(root="/option")}, "/option"),
    (ours(root="file:///option"), "/option"),
    ({"rootUri": "file:///a%20b/%C3%A9%2Fc/100%/%zz"}, "/a b/é/c/100%/%zz"),
    ({"rootUri": "file://localhost/a"}, "/a"),
    ({"rootUri": "file:/a"}, "/a"),
    ({"rootUri": "file:///a/../b/"}, "/b"),
    ({"rootPath": "relative"}, "{cwd}/relative"),
    (ours(root="relative"), "{cwd}/relative"),
]


@pytest.mark.parametrize(("params", "root"), ROOTS)
def test_the_root_is_the_first_local_path_that_is_given(
    params: dict[str, Any], root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R-03: option, workspace folder, rootUri, rootPath, working directory."""
    monkeypatch.chdir(tmp_path)
    assert negotiate(params).root == root.format(cwd=tmp_path)


def test_the_command_line_stands_between_the_clients_option_and_its_folders() -> None:
    """R-03."""
    folders: dict[str, Any] = {"rootUri": "file:///uri"}
    assert negotiate(folders, root="/line").root == "/line"
    assert negotiate(folders | ours(root="/option"), root="/line").root == "/option"
    assert negotiate(ours(root="/r", config="c.yaml"), config="line.yaml").config == "/r/c.yaml"
    assert negotiate(ours(root="/r"), config="/abs.yaml").config == "/abs.yaml"


def test_a_working_directory_that_is_gone_does_not_fail_initialize(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SEC-4."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert negotiate({}).root == "."


def body(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", **members}).encode()


@pytest.mark.parametrize("ident", [0, "", 1, "é", 2**70])
def test_a_good_initialize_is_answered_from_the_bytes(ident: Any) -> None:
    """R-05, R-04: id 0 like any other."""
    for params in ({"params": {"processId": 5}}, {"params": None}, {}):
        answered = hello.answer(body(id=ident, **params))
        assert answered is not None
        greeted, answer = answered
        assert json.loads(answer) == {"jsonrpc": "2.0", "id": ident, "result": greeted.result}


@pytest.mark.parametrize(
    "other",
    [
        b"",
        b"{",
        b"\xff",
        b"[]",
        b"5",
        b"null",
        b"[" * 100_000,
        b"1" * 5000,
        body(method="shutdown"),
        body(jsonrpc="1.0"),
        body(id=None),
        body(id=1.0),
        body(id=True),
        body(id="\ud800"),
        body(params=[1]),
        body(params=0),
        body(params=False),
        body(result=None),
        body(params={"x": float("nan")}),
        body(params={"rootUri": 5}),
        body(params={"rootUri": "file:///\ud800"}),
        body(params=ours(protocolVersions=[9])),
        body(params={"x": [[]] * MAX_NESTING}),
        json.dumps({"id": 0, "method": "initialize"}).encode(),
        json.dumps({"jsonrpc": "2.0", "method": "initialize"}).encode(),
    ],
)
def test_everything_else_is_left_to_the_peer(other: bytes) -> None:
    """X-03, R-19: it judges strictly and answers what is wrong."""
    assert hello.answer(other) is None


def test_what_may_be_nested_too_deep_is_left_to_the_peer() -> None:
    """X-03."""
    assert hello.SIMPLE <= MAX_NESTING


def test_answering_loads_nothing_large() -> None:
    """R-03: the time to `initialize` is that of a bare interpreter."""
    project = str(Path(__file__).parents[2])
    code = (
        f"import sys; sys.path.insert(0, {project!r})\n"
        "before = set(sys.modules)\n"
        "from promptkit_rpc.rpc import hello, serve\n"
        "assert hello.answer(sys.argv[1].encode())\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    shown = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code,
         body(params={"rootUri": "file:///a%20b"}).decode()],
        check=True, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    loaded = shown.stdout.split()
    assert "promptkit_rpc.rpc.serve" in loaded
    assert [name for name in loaded if name.split(".")[0] in HEAVY] == []
