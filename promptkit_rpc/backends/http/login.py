"""A login as HTTP's Basic scheme sends it (RFC 7617), and what of it no text may show."""

import base64
from urllib.parse import unquote

from promptkit_rpc.secret import Secret


class Login:
    """Made from the name and the password as they stand in a URL.

    `header` is the value of the header, `secrets` all that must be hidden: of the login whoever
    gets it may send back any part. A name without a password is a key itself.
    """

    __slots__ = ("header", "secrets")

    def __init__(self, name: str, password: str) -> None:
        name, password = unquote(name), unquote(password)
        token = base64.b64encode(f"{name}:{password}".encode()).decode()
        self.header = Secret(f"Basic {token}")
        self.secrets = (self.header, Secret(token), Secret(password or name))
