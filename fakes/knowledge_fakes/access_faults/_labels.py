"""Mistakes with labels and modes; knows clauses 11.1 to 11.3, no way of catching them."""

import re
import unicodedata
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any

from knowledge_fakes.access_faults._declared import fault
from knowledge_fakes.plain_access import Labels, PlainAccess, Reader, Row
from knowledge_provider import limits
from knowledge_provider.access import AccessMode


@fault("KP-1121", fragment="bobs, labelled with a user")
class OnlyTenantsAreRead(PlainAccess):
    """Tenants are kept apart, and within one everybody reads what is labelled with one person's id."""

    def matches(self, held: Labels, reader: Reader, public: bool | None) -> bool:
        return super().matches({**held, "user_id": reader.user}, reader, public)


# Clause 11.1


@fault("KP-1101", fragment="no labels in")
class EverythingIsPermissive(PlainAccess):
    """Modes are read from the configuration, and the check at the end knows one of them."""

    def suffices(self, held: Labels, public: bool | None, mode: AccessMode) -> bool:  # noqa: ARG002 - the mistake
        return super().suffices(held, public, AccessMode.PERMISSIVE)


@fault("KP-1101", fragment="in public_only")
class PublicOnlyTakesWhatIsMine(PlainAccess):
    """What names its reader counts as public, since the reader may see it."""

    def suffices(self, held: Labels, public: bool | None, mode: AccessMode) -> bool:
        return super().suffices(held, public, AccessMode.DENY_IF_UNLABELED if mode is AccessMode.PUBLIC_ONLY else mode)


@fault("KP-1101", fragment="in tenant_required")
class TenantRequiredIgnoresTheTenant(PlainAccess):
    """Where a tenant is required, a user's own document will do."""

    def suffices(self, held: Labels, public: bool | None, mode: AccessMode) -> bool:
        required = mode is AccessMode.TENANT_REQUIRED and "user_id" in held
        return required or super().suffices(held, public, mode)


@fault("KP-1102", fragment="unlabelled, where nothing is configured")
class PermissiveByDefault(PlainAccess):
    """Whoever configures nothing shows everything that nobody has labelled."""

    def default_mode(self) -> AccessMode:
        return AccessMode.PERMISSIVE


@fault("KP-1102", fragment="mine, where nothing is configured")
class PublicByDefault(PlainAccess):
    """Whoever configures nothing shows what is public, and nobody finds what is their own."""

    def default_mode(self) -> AccessMode:
        return AccessMode.PUBLIC_ONLY


# Clause 11.2


@fault("KP-1103", "KP-1108", fragment="'visibility': 'public', 'tenant_id': 'other'")
class PublicIsForEverybody(PlainAccess):
    """What is public is shown before any other label is looked at."""

    def matches(self, held: Labels, reader: Reader, public: bool | None) -> bool:
        return bool(public) or super().matches(held, reader, public)


@fault("KP-1103", "KP-1109", fragment="'tenant_id': 'acme', 'user_id': 'bob'")
class OneLabelThatFitsIsEnough(PlainAccess):
    """Labels are joined by "or": a colleague's own document is the whole tenant's."""

    def matches(self, held: Labels, reader: Reader, public: bool | None) -> bool:
        alone = super().matches
        fits = [alone({name: each}, reader, public) for name, each in held.items()]
        return not fits or any(fits)


@fault("KP-1103", fragment="'tenant_id': 'acme-2'")
class IdsByTheirBeginning(PlainAccess):
    """Tenants are found by a prefix, and acme-2 is another customer."""

    def matches(self, held: Labels, reader: Reader, public: bool | None) -> bool:
        begins = bool(reader.tenant) and str(held.get("tenant_id", "")).startswith(reader.tenant)
        return super().matches({**held, "tenant_id": reader.tenant} if begins else held, reader, public)


@fault("KP-1103", fragment="{'user_id': 'Alice'}")
class LettersOfAnyCase(PlainAccess):
    """Ids are compared without their case, and Alice is another account in half of all directories."""

    def matches(self, held: Labels, reader: Reader, public: bool | None) -> bool:
        user = str(held.get("user_id", ""))
        same = user.lower() == reader.user.lower() and bool(user)
        return super().matches({**held, "user_id": reader.user} if same else held, reader, public)


@fault("KP-1103", fragment="{'user_id': 'ａｌｉｃｅ'}")
class IdsAsTheyLook(PlainAccess):
    """Ids are normalised before they are compared, and what only looks alike is the same."""

    def text(self, value: Any) -> str:
        return unicodedata.normalize("NFKC", super().text(value))


@fault("KP-1103", fragment="{'tenant_id': '*'}")
class AStarIsEverybody(PlainAccess):
    """A label that is a star counts as everybody's, as a colleague from another system expected."""

    def held(self, labels: Any) -> dict[str, Any]:
        return {name: value for name, value in super().held(labels).items() if value not in ("*", frozenset("*"))}


@fault("KP-1103", fragment="{'allowed_users': 'al*,ali.e,ali?e'}")
class NamesAsPatterns(PlainAccess):
    """The entries of a list are patterns, and whoever writes a label writes one for everybody."""

    def is_among(self, user: str, users: frozenset[str] | None) -> bool:
        patterns = [each for each in users or () if each != "*"]
        return super().is_among(user, users) or any(fnmatchcase(user, each) for each in patterns)


@fault("KP-1104", fragment="{'visibility': 'internal'}")
class TwoWordsAreKnown(PlainAccess):
    """Of visibility two words are known, and every other counts as none."""

    def said_by_visibility(self, value: Any) -> bool | None:
        return {"public": True, "private": False}.get(self.text(value).lower())


@fault("KP-1106", fragment="{'allowed_users': 'editor'}")
class RolesAreUsers(PlainAccess):
    """The list of users may name a role, too, since groups are users in the directory."""

    def matches(self, held: Labels, reader: Reader, public: bool | None) -> bool:
        named = held.get("allowed_users", frozenset())
        rest = {
            name: value for name, value in held.items() if name != "allowed_users" or named.isdisjoint(reader.roles)
        }
        return super().matches(rest, reader, public)


@fault("KP-1106", fragment="a result shown: labels {'allowed_roles': ")
class OneRoleCounts(PlainAccess):
    """Of a reader's roles the first one counts."""

    def has_role(self, roles: frozenset[str], allowed: frozenset[str] | None) -> bool:
        return super().has_role(frozenset(sorted(roles)[:1]), allowed)


@fault("KP-1107", fragment="a list for a list of users")
class ListsAreNoLabel(PlainAccess):
    """A label that is a list counts as none, and what it closes is public."""

    def text(self, value: Any) -> str:
        return "" if type(value) is list else super().text(value)


@fault("KP-1107", fragment="0 for the label tenant_id")
class FalseIsNoLabel(PlainAccess):
    """Whatever is false counts as an empty label."""

    def text(self, value: Any) -> str:
        return "" if type(value) in (int, bool, list, dict) and not value else super().text(value)


@fault("KP-1104", fragment="'public': True")
class OnlyVisibilityIsRead(PlainAccess):
    """One way to say public is known, and what says it the other way is shown to nobody."""

    def said_by_public(self, value: Any) -> bool | None:
        said = super().said_by_public(value)
        return None if said else said


@fault("KP-1104", fragment="'visibility': 'private'")
class PrivateIsNoLabel(PlainAccess):
    """What says that it is private counts as unlabelled, and is shown where that is."""

    def is_nobodys(self, held: Labels, public: bool | None) -> bool:  # noqa: ARG002 - the mistake
        return False


@fault("KP-1105", fragment="'tenant_id': ''")
class EmptyLabelsMatchEmptyReaders(PlainAccess):
    """An empty tenant equals that of a reader who has none."""

    def may_see(self, labels: Any, reader: Reader) -> bool:
        empty = type(labels) is dict and labels.get("tenant_id") == "" == reader.tenant
        return empty or super().may_see(labels, reader)


@fault("KP-1105", fragment="'allowed_users': ''")
class EmptyListsKeepEverybodyOut(PlainAccess):
    """A list without entries is a list in which nobody stands."""

    def held(self, labels: Any) -> dict[str, Any]:
        users = self.entry(labels, "allowed_users")
        found = super().held(labels)
        return {**found, "allowed_users": frozenset()} if users is not None and "allowed_users" not in found else found


@fault("KP-1106", "KP-1108", fragment="malice")
class NamesWithinText(PlainAccess):
    """A name is looked for in the text of the list, and alice is in malice."""

    def is_among(self, user: str, users: frozenset[str] | None) -> bool:
        return super().is_among(user, users) or (bool(user) and any(user in each for each in users or ()))


@fault("KP-1106", fragment="'allowed_roles': 'reader, editor'")
class AllRolesAreNeeded(PlainAccess):
    """Who has one of the roles of a list is asked for the others, too."""

    def has_role(self, roles: frozenset[str], allowed: frozenset[str] | None) -> bool:
        return allowed is None or allowed <= roles


@fault("KP-1106", fragment="' bob , alice ,'")
class EntriesAreNotStripped(PlainAccess):
    """The space behind a comma belongs to the next name, which is nobody's then."""

    def listed(self, text: str) -> frozenset[str]:
        return frozenset(each for each in text.split(",") if each.strip())


@fault("KP-1106", fragment="'bob;alice'")
class ListsOfAnySeparator(PlainAccess):
    """Lists are split at whatever somebody may have put between names, also at what is part of one."""

    def listed(self, text: str) -> frozenset[str]:
        return super().listed(re.sub("[;|/]", ",", text))


@fault("KP-1107", fragment="a user who is equal to everybody")
class ComparesWhatCame(PlainAccess):
    """Labels are compared as they came, with whatever their own class calls equal."""

    def text(self, value: Any) -> Any:
        return value if isinstance(value, str) and type(value) is not str else super().text(value)


@fault("KP-1107", fragment="an answer with the results that may be shown")
class RaisesOverOneLabel(PlainAccess):
    """A label that cannot be read ends the whole search."""

    def may_see(self, labels: Any, reader: Reader) -> bool:
        if type(labels) is dict and type(labels.get("user_id")) is int:
            raise TypeError("user_id is no text")
        return super().may_see(labels, reader)


@fault("KP-1107", fragment="a number for a user")
class UnreadableIsUnlabelled(PlainAccess):
    """A label of another type counts as none, and in permissive mode that is for all."""

    def text(self, value: Any) -> str:
        return "" if type(value) in (int, float) else super().text(value)


# Clause 11.3


@fault("KP-1108", fragment="behind 64 other entries")
class LabelsAfterTheBound(PlainAccess):
    """Metadata are cut to sixteen entries first, and the label that protects is the seventeenth."""

    def labels(self, row: Row) -> Any:
        held = super().labels(row)
        return dict(islice(held.items(), 16)) if type(held) is dict else held


@fault("KP-1108", fragment="with alice2 at its end")
class LabelsCutAsOthersAre(PlainAccess):
    """Every text of metadata is cut to 500 characters first, and a long list ends within somebody's name."""

    def text(self, value: Any) -> str:
        return super().text(value)[: limits.METADATA_TEXT_MAX]


@fault("KP-1123", fragment="'\\ufeffuser_id': 'bob'")
class KeysAsTheyCame(PlainAccess):
    """Labels are looked up by their exact names, and the one behind a spreadsheet's byte order mark is none."""

    def shown(self, key: Any) -> Any:
        return key


@fault("KP-1123", fragment="'\\u202euser_id': 'bob'")
class KeysStripped(PlainAccess):
    """White space and a mark around a name are taken off, and what turns the reading direction is not thought of."""

    def shown(self, key: Any) -> Any:
        return key.strip().strip("\ufeff").strip() if type(key) is str else key


@fault("KP-1123", fragment="'user_id': 'bob', 'user_id ': 'alice'")
class TheLastOfTwoCounts(PlainAccess):
    """Entries are put under the names that a host shows, and of two labels with one name the later one counts."""

    def labels(self, row: Row) -> Any:
        held = super().labels(row)
        return {self.shown(key): value for key, value in held.items()} if type(held) is dict else held
