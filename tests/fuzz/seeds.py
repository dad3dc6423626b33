"""Definition files that use everything there is, to be broken; one of them is a good workspace."""

from typing import Any

Json = Any

SETTINGS = """\
version: 1
prompts: prompts
inputs: [data, "."]
backends:
  script:
    kind: scripted
    description: 'one: "two"'
    replies: replies.yaml
    capacity: 2
    permits: 1
    queue: 10
    timeouts: {connect: 5, read: 120, total: 1}
    retry: {attempts: 2, baseDelay: 0, maxDelay: 0.01}
  echo: {kind: scripted}
  main:
    kind: openai
    baseUrl: http://127.0.0.1:1/v1
    credential: {env: OPENAI_API_KEY}
    headers: {X-Team: docs, X-Key: {env: HOME}}
    structured: prompt
    maxTokensField: max_completion_tokens
  claude: &claude
    kind: anthropic
    baseUrl: http://127.0.0.1:1
    credential: {command: [echo, key]}
  other: *claude
profiles:
  p: {backend: script, model: m, parameters: {temperature: 0.2, maxTokens: 8, topP: 1, seed: 7}}
  e:
    backend: echo
    model: "m"
    parameters: {stop: ["END"], extra: {logit_bias: {"1": 2}}}
x-anything: [1, {a: b}]
_meta: {}
"""

REPLIES = """\
- match: {promptId: a, contains: "why"}
  content: "Because of {{ lastUser }}"
  usage: {inputTokens: 12, outputTokens: 5}
  finishReason: stop
  times: 1
- json: {name: a, n: 1}
  times: 2
- fault: {status: 429, retryAfter: 0.001, body: {error: {message: slow down}}}
  times: 2
- fault: {kind: brokenBody}
  times: 1
- chunks: ["first ", "second"]
- match: {regex: "^(a|b)+$"}
  content: "{% for m in messages %}{{ m.role }} {{ turn }}{% endfor %}"
"""

PROMPTS = (
    """\
description: One line
profile: p
session: "case-{{ case }}"
inputs:
  transcript: {file: "data/{{ case }}.txt"}
variables:
  question: {type: string, default: why}
  case: {type: string, default: bridge}
  depth: {type: integer, default: 2, minimum: 1}
messages:
  - role: system
    cache: {type: ephemeral, ttl: 1h}
    content: |
      You study {{ inputs.transcript }}
      {% if depth > 1 %}{{ question | upper }}{% endif %}
  - role: user
    content: "{{ question }}"
output:
  format: schema
  schema: {type: object, required: [name], properties: {name: {type: string, pattern: "^a"}}}
  repairs: 2
""",
    """\
profile: e
messages:
- {role: user, content: "{% include 'parts/one.txt' %} {{ list | join(', ') }}"}
- role: assistant
  content: >-
    folded
    text
- role: developer
  content: '{% macro m(a) %}{{ a * 3 }}{% endmacro %}{{ m("x") }}{% set n = namespace(a=1) %}'
variables: {list: {type: array, default: [1, 2, 3]}}
output: {format: json, repairs: 1}
""",
    """\
messages:
  - role: user
    content: "{% for a in range(30) %}{{ loop.index }}{{ '%05d' | format(a) }}{% endfor %}"
output: {format: schema, schemaFile: answer.schema.json}
x-note: yes
""",
)

OTHERS = {
    "data/bridge.txt": b"A bridge.\n",
    "prompts/parts/one.txt": b"{{ 1 + 1 }} included",
    "prompts/answer.schema.json": b'{"$defs": {"n": {"type": "integer"}}, "$ref": "#/$defs/n"}',
}

SCRAPS = (
    "  ", "\t", "- ", ": ", "{", "}", "[", "]", "'", '"', "|\n", ">\n", "? ", "&a ", "*a ",
    "*claude", "!!int ", "!x ", "%YAML 1.1\n", "---\n", "...\n", "# ", "<<: *claude\n", "null",
    "~", "yes", "0x1F", "0o17", "1e999", ".nan", ".inf", "-1", "9" * 400, "9" * 5000, "2026-01-01",
    "\0", "\x85", "\u2028", "\ufeff", "${HOME}", "{{", "}}", "{%", "%}", "{#",
    "{% include 'a.prompt.yaml' %}", "{{ self }}", "{{ x.y.z }}", "{{ ''.__class__ }}",
    "{{ 10 ** 99 }}", "{{ 'a' * 10 ** 9 }}",
    "{% for a in a %}", "{% extends x %}", "../", "/etc/passwd", "data", "role", "content", "kind",
    "version: 2\n", "[" * 200, "{a: " * 150,
)  # fmt: skip
