"""Making a node: folder, wallet, DID and settings (`uomp init`)."""

from base64 import urlsafe_b64encode

from uomp.errors import Code, LocalError
from uomp.node.clock import SystemClock, random_bytes
from uomp.node.config import Config, check_config, write_config
from uomp.node.home import Home, HomeLock, write_private
from uomp.node.passphrase import derive_key, new_parameters
from uomp.node.wallet import DidRecord, Keys, Wallet
from uomp.packets.times import format_time
from uomp.protocol.did import peer4

OPERATOR_PREFIX = "uomp_op_"


async def create_node(home: Home, config: Config, passphrase: str) -> str:
    """Make a node and return its DID. A failed attempt leaves nothing that counts.

    The settings are written last: a folder without them holds no node, and what an
    interrupted attempt left there is replaced.

    Raises:
        LocalError: `ALREADY_INITIALISED`.
        UnavailableError: `STORE_UNAVAILABLE`.
    """
    check_config(config)
    _ = home.control_socket  # refuses a path that no socket can have
    home.create()
    with HomeLock(home):
        _refuse_a_node(home)
        home.wallet.unlink(missing_ok=True)
        key = derive_key(passphrase, new_parameters(home))
        wallet = await Wallet.create(home, key)
        try:
            record = new_did(wallet.identity.keys, config.endpoint())
            await wallet.add_did(record)
        finally:
            await wallet.close()
        write_operator_token(home)
        write_config(home, config)
    return record.long


def _refuse_a_node(home: Home) -> None:
    """Refuse to make a node where there is one, also one that lost its settings."""
    if home.exists():
        raise LocalError(
            Code.ALREADY_INITIALISED, f"There is a node in {home.root} already."
        )
    # An attempt that was cut off has no stores yet; they are made by the first start.
    if any(path.exists() for path in (home.memory, home.ledger, home.audit)):
        raise LocalError(
            Code.ALREADY_INITIALISED,
            f"There is a node in {home.root} that has lost {home.config.name} or "
            f"{home.wallet.name}. Put the file back; an empty {home.config.name} of "
            "mode 600 will do.",
        )


def new_did(keys: Keys, endpoint: str) -> DidRecord:
    """Make the did:peer:4 of these keys at this endpoint."""
    document = peer4.node_document(
        keys.signing_multikey, keys.agreement_multikey, endpoint
    )
    return DidRecord(
        long=peer4.create(document).long,
        endpoint=endpoint,
        created_at=format_time(SystemClock().now()),
    )


def write_operator_token(home: Home) -> None:
    """Write a fresh owner's credential for control routes over TCP."""
    token = OPERATOR_PREFIX + urlsafe_b64encode(random_bytes(32)).decode().rstrip("=")
    write_private(home.operator_token, token.encode())
