"""How a command reaches the running node."""

import http.client
import socket
from typing import Any

import orjson

from uomp.errors import Code, LocalError, UnavailableError
from uomp.node.home import Home
from uomp.node.passphrase import ask_passphrase, find_passphrase

PREFIX = "/v1/owner/"
TIMEOUT_SECONDS = 600.0  # the end of a large import is one long transaction


class _SocketFile(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=TIMEOUT_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(TIMEOUT_SECONDS)
        self.sock.connect(self._path)


class ControlClient:
    """Calls operations of the node in one home."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._connection: _SocketFile | None = None

    def call(self, operation: str, /, **values: Any) -> Any:  # noqa: ANN401
        """Call an operation; ask for the passphrase if the node wants it again.

        Raises:
            UompError: what the node answers; `NODE_NOT_RUNNING` if there is none.
        """
        try:
            return self._call(operation, values)
        except LocalError as error:
            if error.code is not Code.UNLOCK_REQUIRED:
                raise
        passphrase = find_passphrase() or ask_passphrase("Passphrase, to allow this: ")
        self._call("unlock", {"passphrase": passphrase})
        return self._call(operation, values)

    def _call(self, operation: str, values: dict[str, Any]) -> Any:  # noqa: ANN401
        try:
            sent = orjson.dumps(values)
        except TypeError as e:  # half of a surrogate pair, or a number too large
            message = f"The command holds what cannot be sent: {e}."
            raise LocalError(Code.INVALID_REQUEST, message) from e
        status, body = self._exchange(operation, sent)
        answer = orjson.loads(body)
        if status == http.client.OK:
            return answer["result"]
        error = answer["error"]
        name = error.get("code")
        code = Code(name) if name in Code.__members__ else Code.INTERNAL_ERROR
        raise LocalError(code, error["message"])

    def _exchange(self, operation: str, body: bytes) -> tuple[int, bytes]:
        self._home.require()
        path = self._home.control_socket
        headers = {"Content-Type": "application/json", "Host": "localhost"}
        try:
            if self._connection is None:
                self._connection = _SocketFile(str(path))
            self._connection.request("POST", PREFIX + operation, body, headers)
            response = self._connection.getresponse()
            return response.status, response.read()
        except (FileNotFoundError, ConnectionRefusedError) as error:
            raise UnavailableError(
                Code.NODE_NOT_RUNNING,
                f"No node runs in {self._home.root}. Start it with: uomp serve",
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise UnavailableError(
                Code.NODE_NOT_RUNNING, "The node ended before it had answered."
            ) from error

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            self._connection.close()
