"""Services of a DID document: where a message may be sent, in all its spellings."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from uomp.protocol.did.syntax import DidError

DIDCOMM: Final = "DIDCommMessaging"

_MAX_SERVICES: Final = 32  # also endpoints of one service
_MAX_URI_CHARS: Final = 9_000  # an endpoint may be a long-form DID
_MAX_NAMES: Final = 32  # media profiles or routing keys of one endpoint

Absolute = Callable[[object], str]


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """One endpoint. A service with a list of endpoints becomes several of one `id`."""

    id: str
    type: str
    uri: str
    accept: tuple[str, ...]
    routing_keys: tuple[str, ...]


def read_services(value: object, absolute: Absolute) -> tuple[Service, ...]:
    """Read `service`: endpoints as text, object or list; those without URI go out.

    Raises:
        DidError: if it is no list of objects, a limit is passed or an id comes twice.
    """
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > _MAX_SERVICES:
        raise DidError("The services of a DID document are no list, or too many.")
    made: list[Service] = []
    seen: set[str] = set()
    for entry in value:
        if not isinstance(entry, dict):
            raise DidError("A service is no object.")
        id_ = absolute(entry.get("id"))
        if id_ in seen:
            raise DidError("A DID document has two services of one id.")
        seen.add(id_)
        made.extend(_endpoints(id_, entry))
    return tuple(made)


def _endpoints(id_: str, entry: Mapping[str, Any]) -> Iterator[Service]:
    type_ = _type(entry.get("type"))
    endpoint = entry.get("serviceEndpoint")
    endpoints = endpoint if isinstance(endpoint, list) else [endpoint]
    if len(endpoints) > _MAX_SERVICES:
        raise DidError("A service has too many endpoints.")
    for one in endpoints:
        # An older spelling has the profile and the routes beside the endpoint.
        place = one if isinstance(one, dict) else {**entry, "uri": one}
        uri = place.get("uri")
        if not isinstance(uri, str) or not uri:
            continue
        if len(uri) > _MAX_URI_CHARS:
            raise DidError("A service has an endpoint that is too long.")
        yield Service(
            id=id_,
            type=type_,
            uri=uri,
            accept=_names(place.get("accept")),
            routing_keys=_names(place.get("routingKeys")),
        )


def _type(value: object) -> str:
    types = value if isinstance(value, list) else [value]
    if not types or not all(isinstance(type_, str) for type_ in types):
        raise DidError("A service has no type.")
    return DIDCOMM if DIDCOMM in types else str(types[0])


def _names(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    names = value if isinstance(value, list) else [value]
    if len(names) > _MAX_NAMES or not all(isinstance(name, str) for name in names):
        raise DidError("A service has names that are no text, or too many.")
    return tuple(names)
