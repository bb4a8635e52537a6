"""The main job, told by three nodes: Alice, Bob and Carol.

Each is a process of its own with its own home, wallet and DID, started and steered
with the installed `uomp` command only. Run it with `make demo`; it leaves
`build/demo/{packet,did,receipt}.json` and `build/demo/transcript.jsonl`.
"""

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "demo"
EXPORT = ROOT / "tests" / "data" / "chatgpt-export"
UOMP = [sys.executable, "-m", "uomp"]
LISBON = "chatgpt.c0000000-0000-4000-8000-000000000001"
WAIT_SECONDS = 20


class Person:
    """One node and the person whose it is."""

    transcript: list[dict[str, Any]] = []  # noqa: RUF012 - one for all

    def __init__(self, name: str) -> None:
        self.name = name
        self.home = OUT / name.lower()
        self.environment = {
            **os.environ,
            "UOMP_HOME": str(self.home),
            "UOMP_PASSPHRASE": secrets.token_urlsafe(16),
        }
        self.did = ""

    def uomp(self, *words: str, fails: bool = False) -> Any:  # noqa: ANN401
        """Run one command with `--json` and return what it prints."""
        done = subprocess.run(
            [*UOMP, *words, "--json"],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if (done.returncode != 0) is not fails:
            sys.exit(f"{self.name}: uomp {' '.join(words)}\n{done.stdout}{done.stderr}")
        answer = json.loads(done.stdout)
        self.transcript.append(
            {
                "who": self.name,
                "command": ["uomp", *words],
                "exit": done.returncode,
                "answer": answer,
            }
        )
        return answer

    def until(self, words: list[str], holds: Callable[[Any], bool]) -> Any:  # noqa: ANN401
        """Run a command until what it prints satisfies `holds`."""
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            answer = self.uomp(*words)
            if holds(answer):
                return answer
            self.transcript.pop()
            time.sleep(0.1)
        sys.exit(f"{self.name}: nothing came of uomp {' '.join(words)}")

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Make the node and run it for as long as the body lasts."""
        port = _free_port()
        made = ["init", "--unattended", "--name", self.name, "--port", str(port)]
        self.did = self.uomp(*made)["did"]
        with (OUT / f"{self.name.lower()}.log").open("w") as log:
            node = subprocess.Popen(
                [*UOMP, "serve"], env=self.environment, stdout=log, stderr=log
            )
        try:
            self._wait_until_up(node)
            yield
        finally:
            node.terminate()
            node.wait(timeout=10)

    def _wait_until_up(self, node: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + WAIT_SECONDS
        while node.poll() is None and time.monotonic() < end:
            if (self.home / "control.sock").exists():
                return
            time.sleep(0.05)
        sys.exit(f"{self.name}'s node did not start; see {OUT}/{self.name.lower()}.log")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def tell(text: str = "") -> None:
    """Print a line of the story."""
    print(text, flush=True)


def chapter(title: str) -> None:
    """Print a heading."""
    tell(f"\n== {title}")


def short(text: str) -> str:
    """Shorten a DID or a hash for a line."""
    return text if len(text) < 40 else f"{text[:26]}…{text[-6:]}"  # noqa: PLR2004


def main() -> None:
    """Tell the story."""
    began = time.monotonic()
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    alice, bob, carol = Person("Alice"), Person("Bob"), Person("Carol")
    with contextlib.ExitStack() as stack:
        chapter("Three nodes, each with its own home, wallet and DID")
        for person in (alice, bob, carol):
            stack.enter_context(person.running())
            tell(f"  {person.name:6} {short(person.did)}")
        remember(alice)
        session_id, packet_id = ask_and_grant(alice, bob, carol)
        read_again(alice, bob, session_id)
        hand_on(bob, carol, packet_id)
        revoke(alice, bob, session_id)
        tamper(alice, bob, packet_id)
    transcript = "".join(json.dumps(line) + "\n" for line in Person.transcript)
    (OUT / "transcript.jsonl").write_text(transcript)
    tell(f"\nDone in {time.monotonic() - began:.1f} s. See build/demo/:")
    tell("  packet.json  did.json  receipt.json  receiver-did.json  transcript.jsonl")


def remember(alice: Person) -> None:
    """Alice's memory comes from her ChatGPT export."""
    chapter("Alice imports her ChatGPT export")
    done = alice.uomp("import", str(EXPORT), "--tag", "chats", "--sensitivity", "low")
    tell(f"  taken for: {done['taken_for']}")
    tell(f"  {done['stored']['added']} items added")
    for record in done["skipped_records"]:
        tell(f"  skipped {record['ref']}: {record['reason']}")
    for reason, count in done["left_out_reasons"].items():
        tell(f"  left out {count} x {reason}")


def ask_and_grant(alice: Person, bob: Person, carol: Person) -> tuple[str, str]:
    """Bob asks for everything; Alice grants one conversation, for ten minutes."""
    chapter("Bob asks Alice, over DIDComm")
    purpose = "Plan the trip with what you told your other assistant"
    ask = ["request", alice.did, "--tag", "chats", "--minutes", "60"]
    asked = bob.uomp(*ask, "--purpose", purpose)
    tell("  he asks for everything tagged chats, for 60 minutes")
    chapter("Alice sees who asks, and what it would get")
    (waiting,) = alice.until(["requests", "list"], bool)
    tell(f"  who:     {waiting['agent_name']}, {short(waiting['from'])}")
    tell(f"  why:     {waiting['purpose']}")
    tell(
        f"  exposes: {waiting['exposes']['items']} items: {waiting['exposes']['tags']}"
    )
    chapter(
        "She grants less: one conversation, 10 minutes, to be shared with Carol only"
    )
    granted = alice.uomp(
        *("requests", "approve", waiting["request_id"], "--key", LISBON),
        *("--minutes", "10", "--reshare", carol.did),
    )
    session_id = granted["session"]["session_id"]
    tell(f"  session {session_id} until {granted['session']['expires_at']}")
    chapter("Token and packet arrive at Bob's; his node verifies, he looks, he accepts")
    answer = bob.until(
        ["requests", "list", "--sent"],
        lambda sent: any(one["status"] == "granted" for one in sent),
    )
    (answer,) = [one for one in answer if one["request_id"] == asked["request_id"]]
    tell(f"  Alice's answer: {answer['answer']['decision']}")
    (packet,) = bob.until(["inbox", "list"], bool)
    shown = bob.uomp(
        "inbox", "show", packet["packet_id"], "--output", str(OUT / "packet.json")
    )
    for step in shown["reports"][0]["steps"]:
        tell(f"    {step['number']:>2} {step['name']}: {'ok' if step['ok'] else '-'}")
    plan = bob.uomp("inbox", "plan", packet["packet_id"])
    for item in plan["items"]:
        tell(f"  plan: {item['what']}: {item['key']}")
    done = bob.uomp("inbox", "accept", packet["packet_id"])
    tell(f"  accepted: {done['written']} item")
    did = alice.uomp("did", "show")
    (OUT / "did.json").write_text(json.dumps(did["document"], indent=2))
    (handed,) = alice.until(
        ["handoff", "show", packet["packet_id"]], lambda all_: all_[0]["receipt"]
    )
    (OUT / "receipt.json").write_text(json.dumps(handed["receipt"], indent=2))
    (OUT / "receiver-did.json").write_text(
        json.dumps(bob.uomp("did", "show")["document"], indent=2)
    )
    tell(
        f"  Alice holds the signed receipt of Bob's node: {handed['receipt']['status']}"
    )
    return session_id, packet["packet_id"]


def read_again(alice: Person, bob: Person, session_id: str) -> None:
    """Within the session Bob reads by message, and no further than it reaches."""
    chapter("Bob reads once more within the session, by message")
    read = ["request", alice.did, "--session", session_id, "--wait", str(WAIT_SECONDS)]
    answer = bob.uomp(*read, "--key", LISBON)
    tell(f"  granted key: {answer['status']}, {short(answer['answer']['packet_hash'])}")
    other = "chatgpt.c0000000-0000-4000-8000-000000000002"
    answer = bob.uomp(*read, "--key", other, fails=True)
    tell(f"  another key: {answer['status']}, {answer['answer']['code']}")


def hand_on(bob: Person, carol: Person, packet_id: str) -> None:
    """Bob hands Alice's packet to Carol, unaltered, inside one of his own."""
    chapter("Bob hands Alice's packet on to Carol, unaltered inside his own")
    carol.uomp("contacts", "add", bob.did, "--name", "Bob", "--may-send")
    sent = bob.uomp("handoff", "send", carol.did, "--packet", packet_id)
    (received,) = carol.until(["inbox", "list"], bool)
    shown = carol.uomp("inbox", "show", received["packet_id"])
    for report in shown["reports"]:
        tell(f"  {report['verdict']}: signed by {short(report['signer'])}")
    carol.uomp("inbox", "accept", received["packet_id"])
    why = carol.uomp("why", LISBON)
    tell(f"  Carol's item came from {short(why['lineage'][0]['issuer'])}")
    tell(f"                 through {short(why['lineage'][0]['sender'])}")
    bob.until(["handoff", "show", sent["packet_id"]], lambda all_: all_[0]["receipt"])
    tell("  Bob holds Carol's signed receipt")


def revoke(alice: Person, bob: Person, session_id: str) -> None:
    """Alice ends it; the token is void, what Bob accepted stays his."""
    chapter("Alice revokes")
    alice.uomp("sessions", "revoke", session_id, "--reason", "the trip is booked")
    bob.until(
        ["sessions", "list"],
        lambda all_: any(one["status"] == "revoked" for one in all_),
    )
    tell("  Bob's node has been told")
    read = ["request", alice.did, "--session", session_id, "--wait", str(WAIT_SECONDS)]
    answer = bob.uomp(*read, "--key", LISBON, fails=True)
    tell(f"  Bob's next request in that session: {answer['answer']['code']}")
    kept = bob.uomp("memory", "get", LISBON)
    tell(f"  what he accepted stays his: {kept['key']} (source: {kept['source']})")


def tamper(alice: Person, bob: Person, packet_id: str) -> None:
    """A changed copy is refused, and the check that failed is named."""
    chapter("A tampered copy")
    text = (OUT / "packet.json").read_text()
    good = bob.uomp("packet", "verify", str(OUT / "packet.json"))
    tell(f"  the packet itself: {good['verdict']}")
    changed = OUT / "tampered.json"
    changed.write_text(text.replace("Lisbon", "London", 1))
    bad = bob.uomp("packet", "verify", str(changed), fails=True)
    failed = next(step for step in bad["steps"] if step["ok"] is False)
    tell(f"  one word changed:  {bad['verdict']} at check {failed['number']}")
    alice.uomp("audit", "verify")
    log = bob.uomp("audit", "list", "--limit", "3")
    tell(f"  both audit logs hold; Bob's last entry: {log[0]['action']}")
    assert packet_id in text  # noqa: S101 - the file is the packet that was granted


if __name__ == "__main__":
    main()
