"""One JSON request over HTTP, with every way in which it can fail told apart."""

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

__all__ = ["JsonClient", "RequestFailed"]

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_WORTH_RETRYING = (408, 425, 429, 500, 502, 503, 504, 529)
_LARGEST_BODY = 64 * 2**20
_SHOWN = 300


class RequestFailed(Exception):
    """A request got no usable answer.

    Attributes:
        kind: "refused" (another try would fail alike), "busy" (the server asks to wait) or "fault"
            (of the server or the network).
        retry_after: Seconds that the server asks to wait; None if it does not say.
    """

    def __init__(
        self,
        message: str,
        kind: Literal["refused", "busy", "fault"] = "fault",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind, self.retry_after = kind, retry_after


class JsonClient:
    """Sends JSON to a server and reads JSON back.

    Args:
        base_url: What paths are appended to, for example "http://127.0.0.1:8000/v1".
        timeout: The most seconds to connect, to wait for the next bytes, and for the whole body.
        api_key: Sent as a bearer token.

    Raises:
        ValueError: ``base_url`` is no http(s) address, or ``timeout`` is not positive.
    """

    def __init__(self, base_url: str, timeout: float, api_key: str | None = None) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f'base_url must look like "http://host:8000/v1", got {base_url!r}')
        if not 0 < timeout < float("inf"):
            raise ValueError(f"timeout must be > 0 and finite, got {timeout!r}")
        self.base_url = base_url.rstrip("/")
        self._timeout = timeout
        self._headers = {"Accept": "application/json"}
        if api_key is not None:
            self._headers["Authorization"] = f"Bearer {api_key}"
        # A proxy cannot reach this machine's own servers.
        direct = [urllib.request.ProxyHandler({})] if parts.hostname in _LOOPBACK else []
        self._opener = urllib.request.build_opener(*direct)

    def get(self, path: str) -> dict[str, Any]:
        """Returns the JSON object at a path.

        Raises:
            RequestFailed: There is no such answer.
        """
        return self._request(path, None)

    def post(self, path: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the JSON object that answers a payload.

        Raises:
            RequestFailed: There is no such answer.
        """
        return self.send(path, json.dumps(payload).encode(), "application/json")

    def send(self, path: str, data: bytes, content_type: str) -> dict[str, Any]:
        """Returns the JSON object that answers other bytes than JSON, such as a form.

        Raises:
            RequestFailed: There is no such answer.
        """
        return self._request(path, data, {"Content-Type": content_type})

    def _request(
        self, path: str, data: bytes | None, headers: Mapping[str, str] = {}
    ) -> dict[str, Any]:
        url = f"{self.base_url}/{path}"
        try:
            body = self._body(urllib.request.Request(url, data, {**self._headers, **headers}))
        except urllib.error.HTTPError as error:
            raise _status_failure(url, error) from error
        except TimeoutError as error:
            raise RequestFailed(f"{url}: no answer within {self._timeout:g} s") from error
        except (OSError, http.client.HTTPException) as error:
            raise RequestFailed(f"{url}: {_reason(error, self._timeout)}") from error
        return _object(url, body)

    def _body(self, request: urllib.request.Request) -> bytes:
        deadline = time.monotonic() + self._timeout
        body = b""
        with self._opener.open(request, timeout=self._timeout) as response:
            while chunk := response.read1(2**16):
                body += chunk
                if time.monotonic() > deadline:
                    raise TimeoutError
                if len(body) > _LARGEST_BODY:
                    raise OSError(f"the answer is longer than {_LARGEST_BODY} bytes")
            missing = response.length
        if missing:
            raise http.client.IncompleteRead(body, missing)
        return body


def _object(url: str, body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        shown = body[:_SHOWN]
        raise RequestFailed(f"{url}: the answer is no JSON: {shown!r}") from error
    if not isinstance(found, dict):
        raise RequestFailed(f"{url}: the answer is no JSON object: {body[:_SHOWN]!r}")
    return found


def _status_failure(url: str, error: urllib.error.HTTPError) -> RequestFailed:
    try:
        shown = error.read(_SHOWN).decode(errors="replace")
    except (OSError, http.client.HTTPException):
        shown = ""
    message = f"{url}: HTTP status {error.code} {shown}".rstrip()
    if error.code == 429:
        return RequestFailed(message, "busy", _seconds(error.headers.get("Retry-After")))
    kind: Literal["fault", "refused"] = "fault" if error.code in _WORTH_RETRYING else "refused"
    return RequestFailed(message, kind, _seconds(error.headers.get("Retry-After")))


def _seconds(text: str | None) -> float | None:
    """The header's seconds; a date in it counts as not said."""
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _reason(error: Exception, timeout: float) -> str:
    inner = error.reason if isinstance(error, urllib.error.URLError) else error
    return f"no answer within {timeout:g} s" if isinstance(inner, TimeoutError) else repr(inner)
