"""Names of secrets, which must not stand in settings that are written elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping

# Names that hold secrets, without capitals and signs; "max_tokens" and the like are none.
_SECRET = re.compile(
    r"token|bearer|credentials?|passwd|.*(apikey|authorization|password|secret|secretkey"
    r"|accesskey|privatekey|accesstoken|authtoken|bearertoken|refreshtoken|apitoken)"
)


def secret_in(value: object) -> str | None:
    """The first name of a secret among the names in ``value``, tables in it included."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if _SECRET.fullmatch(re.sub(r"[^a-z0-9]", "", str(name).casefold())):
                return str(name)
            found = secret_in(inner)
            if found is not None:
                return found
    elif isinstance(value, list):
        return next(filter(None, map(secret_in, value)), None)
    return None
