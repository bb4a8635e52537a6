"""The tree of nodes in a ChatGPT conversation, and the branch that its owner sees.

`mapping` goes from node id to {id, parent, children, message}. Editing or asking again
makes a sibling; `current_node` is the leaf that was on the screen last.
"""

import msgspec

from uomp.adapters.chatgpt_message import message_time

Mapping = dict[str, object]

NO_CURRENT = "It names no last message: the latest branch was taken."
NO_PARENT = "A parent is missing: the branch starts after it."
LOOP = "The messages form a loop: the branch was cut there."


class Branch(msgspec.Struct, frozen=True):
    """Node ids from the first to the last, and what had to be decided."""

    nodes: tuple[str, ...]
    notes: tuple[str, ...]


def node_of(mapping: Mapping, node_id: object) -> dict[str, object] | None:
    """Return a node, or None if there is no such node or it is no object."""
    node = mapping.get(node_id) if isinstance(node_id, str) else None
    return node if isinstance(node, dict) else None


def message_of(mapping: Mapping, node_id: str) -> object:
    """Return whatever the node has as its message; None if it has none."""
    node = node_of(mapping, node_id)
    return node.get("message") if node else None


def main_branch(mapping: Mapping, current: object) -> Branch:
    """Walk from `current` to the root by `parent` and turn it round."""
    notes: list[str] = []
    if node_of(mapping, current) is None or not isinstance(current, str):
        current = _latest_leaf(mapping)
        if current is None:
            return Branch((), ())
        notes.append(NO_CURRENT)
    path: dict[str, None] = {}
    step: str | None = current
    while step is not None:
        path[step] = None
        step = _parent(mapping, step, path, notes)
    return Branch(tuple(reversed(path)), tuple(notes))


def _parent(
    mapping: Mapping, node_id: str, path: dict[str, None], notes: list[str]
) -> str | None:
    node = node_of(mapping, node_id) or {}
    parent = node.get("parent")
    if parent is None:
        return None
    if not isinstance(parent, str) or node_of(mapping, parent) is None:
        notes.append(NO_PARENT)
        return None
    if parent in path:
        notes.append(LOOP)
        return None
    return parent


def _latest_leaf(mapping: Mapping) -> str | None:
    """Return the leaf with the latest message, the later one of equals."""
    nodes = {
        node_id: node for node_id, node in mapping.items() if isinstance(node, dict)
    }
    parents = {
        parent
        for node in nodes.values()
        if isinstance(parent := node.get("parent"), str)
    }
    best: tuple[float, str] | None = None
    for node_id, node in nodes.items():
        if node_id in parents or not isinstance(message := node.get("message"), dict):
            continue
        written = message_time(message)
        moment = written.timestamp() if written else 0.0
        if best is None or moment >= best[0]:
            best = (moment, node_id)
    return best[1] if best else None


def abandoned(mapping: Mapping, main: Branch) -> tuple[str, ...]:
    """Return the nodes off the main branch, in the order of the file."""
    kept = frozenset(main.nodes)
    return tuple(node_id for node_id in mapping if node_id not in kept)


class Ancestors:
    """Finds the nearest ancestor that is kept, in one pass over the tree in all."""

    def __init__(self, mapping: Mapping, kept: set[str]) -> None:
        self._mapping = mapping
        self._kept = kept
        self._known: dict[str, str | None] = {}

    def nearest(self, node_id: str) -> str | None:
        """Return the kept ancestor, or None at the root, at a gap and in a loop."""
        trail: dict[str, None] = {}
        found: str | None = None
        step: object = node_id
        while isinstance(step, str) and step not in trail:
            if step in self._known:
                found = self._known[step]
                break
            trail[step] = None
            step = (node_of(self._mapping, step) or {}).get("parent")
            if isinstance(step, str) and step in self._kept and step not in trail:
                found = step
                break
        self._known.update(dict.fromkeys(trail, found))
        return found
