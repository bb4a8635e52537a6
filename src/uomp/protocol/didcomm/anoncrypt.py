"""Encryption without a sender: ECDH-ES+A256KW, for forwarding and first contact."""

from collections.abc import Sequence

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from uomp.protocol.didcomm import content, jwe
from uomp.protocol.didcomm.agreement import (
    AgreementKey,
    RecipientKey,
    exchange,
    read_epk,
    write_epk,
)


def pack_anoncrypt(
    plaintext: bytes,
    *,
    recipients: Sequence[RecipientKey],
    ephemeral: X25519PrivateKey,
    cek: bytes,
    iv: bytes,
) -> bytes:
    """Encrypt for all recipient keys with A256CBC-HS512; nobody learns who sent it.

    `ephemeral`, `cek` (64 bytes) and `iv` (16 bytes) must be fresh and random.

    Raises:
        RefusalError: for no recipients, too many, one twice, or a weak key.
        ValueError: if `cek` or `iv` has not its length.
    """
    kids = [recipient.kid for recipient in recipients]
    jwe.check_recipients(kids)
    content.check_sizes(cek, iv)
    parties = jwe.describe_parties(jwe.ANONCRYPT, None, kids)
    header = jwe.Header(
        alg=jwe.ANONCRYPT,
        apv=parties.apv,
        enc=content.CBC_HS512,
        epk=write_epk(ephemeral),
        typ=jwe.MEDIA_TYPE,
    )
    protected = jwe.write_header(header)
    ciphertext, tag = content.encrypt(cek, iv, plaintext, protected.encode())
    wrapped = []
    for recipient in recipients:
        kek = jwe.derive_key(exchange(ephemeral, recipient.public), parties.info)
        wrapped.append(jwe.Recipient(jwe.wrap_key(kek, cek), {"kid": recipient.kid}))
    return jwe.write_jwe(protected, (iv, ciphertext, tag), wrapped)


def open_anoncrypt(
    envelope: jwe.Envelope, recipient: jwe.Recipient, *, key: AgreementKey
) -> bytes:
    """Return the plaintext that somebody has encrypted for `key`.

    `recipient` is the entry of the envelope that is for `key`. Some agents write `epk`
    there, and not into the protected header: that is read.

    Raises:
        RefusalError: if it cannot be opened.
        EncodingError: if a part is not base64url.
    """
    epk = read_epk(envelope.header.epk or recipient.header.get("epk"))
    kek = jwe.derive_key(key.agree_once(epk), envelope.info)
    cek = jwe.unwrap_key(kek, recipient.encrypted_key)
    return content.decrypt(envelope.header.enc, cek, jwe.decode_parts(envelope.jwe))
