"""The summer sweep: in which order keys change, and how the manifest is sealed."""

import hashlib
import hmac
import sys

from deck import say
from tollbridge import rotate, signing
from tollbridge.keyring import Ring

OLD, NEW = "mast-2505", "mast-2507"


class Watched(Ring):
    """Notes how things stand at the moment at which the signer changes."""

    seen = None

    def promote(self, name):
        if name == NEW:
            held = self.fleet.lists.get("mast", [])
            self.seen = (self.state(OLD) != "retired", NEW in held, OLD in held)
        super().promote(name)


def order():
    ring = Watched()
    ring.fleet = rotate.Fleet()
    for owner in ("mast", "ctd"):
        ring.issue(f"{owner}-2505", owner, f"old {owner}")
        ring.promote(f"{owner}-2505")
        ring.fleet.push(owner, ring.accepted(owner))
    rotate.sweep(ring, ring.fleet, "2507", {"mast": "m", "ctd": "c"})
    for owner, secret in (("mast", "m"), ("ctd", "c")):
        if ring.signing(owner) != f"{owner}-2507" or ring.secret(f"{owner}-2507") != secret:
            sys.exit(1)
        if ring.state(f"{owner}-2505") != "retired" or f"{owner}-2507" not in ring.fleet.lists[owner]:
            sys.exit(1)
    say(
        ring.seen,
        {
            (True, True, True): "both keys are out while the signer changes",
            (False, True, False): "the old key is gone before the new one signs",
            (True, False, True): "the new key signs before a box knows it",
            (False, False, True): "the new key signs before a box knows it",
        },
    )


def seal():
    from tollbridge import manifests

    ring = Ring()
    ring.issue("mast-2507", "mast", "s1")
    ring.promote("mast-2507")
    *lines, tag = manifests.sealed(ring, "hush").strip().split("\n")
    text = "\n".join(lines)
    if text != rotate.manifest(ring):
        sys.exit(1)
    tags = {
        form: name
        for name, value in {
            "brine": signing.sign("brineseal", "hush", text),
            "salt": signing.sign("saltseal", "hush", text),
            "bare": hmac.new(b"hush", text.encode(), hashlib.sha256).hexdigest(),
        }.items()
        for form in (value, f"{name}seal:{value}", f"{name}seal {value}")
    }
    say(tags.get(tag), {"brine": "brineseal", "salt": "saltseal", "bare": "a bare HMAC"})


{"order": order, "seal": seal}[sys.argv[1]]()
