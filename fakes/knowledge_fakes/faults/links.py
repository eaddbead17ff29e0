"""Mistakes with links and the credentials in them; knows section 6 of the contract, no way of catching them.

Every host, key and token in here is invented.
"""

from typing import Any

from knowledge_fakes.faults._changing import (
    answering,
    claiming,
    put_source,
    rows_of,
    with_each,
    with_last,
    with_metadata,
    with_source,
)
from knowledge_fakes.faults._fault import fault

_SIGNED = (
    "https://documents.s3.eu-central-1.amazonaws.com/handbook.pdf?X-Amz-Algorithm=AWS4-HMAC-SHA256"
    "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE&X-Amz-Expires=3600&X-Amz-Signature=0f1e2d3c"
)


@fault("KP-601", "KP-603", fragment="a link without a credential")
def presigned_link(sound: Any) -> Any:
    """The citation is a signed link of the object store, so everyone who sees it can read the file."""
    return with_source(sound, uri=_SIGNED)


@fault("KP-601", "KP-603", fragment="['source']['uri']")
def user_in_a_link(sound: Any) -> Any:
    """The link to the repository holds the token with which it was cloned."""
    return with_source(sound, uri="https://oauth2:glpat-INVENTED@git.example.com/handbook/approvals.md")


@fault("KP-601", fragment="['metadata']['download']")
def token_in_metadata(sound: Any) -> Any:
    """The metadata holds the vendor's download link with its access token."""
    return with_metadata(sound, download="https://files.example.com/handbook.pdf?access_token=INVENTED")


@fault("KP-601", fragment="['source']['id']")
def connection_string_as_source_id(sound: Any) -> Any:
    """The source's id is the connection string of the database, with the password in it."""
    return with_source(sound, id="postgresql://reader:INVENTED@database.example.com/handbook")


@fault("KP-601", fragment="['id'] of")
def link_as_id(sound: Any) -> Any:
    """The id is the address from which the page was fetched, with the crawler's user name and password."""
    return with_each(sound, lambda row: {**row, "id": f"https://crawler:INVENTED@files.example.com/{row['id']}"})


@fault("KP-601", "KP-512", "KP-516", fragment="['metadata']['links'][0]")
def link_in_a_list(sound: Any) -> Any:
    """The metadata holds a list of further links, one of them with a user name and a password."""
    return with_metadata(sound, links=["https://crawler:INVENTED@files.example.com/handbook.pdf"])


@fault("KP-601", fragment="['metadata']['note']")
def link_in_a_note(sound: Any) -> Any:
    """A signed link stands in the midst of a sentence in the metadata."""
    return with_metadata(sound, note="Updated 12:30. The original (https://files.example.com/a?sig=INVENTED) is kept.")


@fault("KP-601", fragment="['metadata']['mirrors']")
def second_link_in_a_text(sound: Any) -> Any:
    """A list of links joined by commas has the credential in the second one."""
    return with_metadata(sound, mirrors="https://a.example.com/x,https://crawler:INVENTED@b.example.com/x")


@fault("KP-601", fragment="['link']")
def link_beside_the_source(sound: Any) -> Any:
    """The vendor's own field, a link without a host but with an access token, rides along beside the source."""
    return with_each(sound, lambda row: {**row, "link": "/download?access_token=INVENTED"})


@fault("KP-601", fragment="['href']")
def href_beside_the_source(sound: Any) -> Any:
    """The vendor's own field, a link with the crawler's password, rides along beside the source."""
    return with_each(sound, lambda row: {**row, "href": "https://crawler:INVENTED@files.example.com/handbook.pdf"})


@fault("KP-601", fragment="['sources'][0]['reason']")
def connection_string_in_a_report(sound: Any) -> Any:
    """The report on the stores behind quotes a driver's error, with the connection string in it."""
    report = {
        "key": "wiki",
        "status": "failed",
        "reason": "no route to postgresql://reader:INVENTED@db.example.com/wiki",
    }
    return answering(sound, lambda answer, _request: {"results": rows_of(answer), "sources": [report]})


@fault("KP-602", "KP-603", fragment="a public http or https address")
def intranet_link(sound: Any) -> Any:
    """The citation leads to a wiki that only the company's network knows."""
    return with_source(sound, uri="http://wiki.corp/handbook")


@fault("KP-602", "KP-603", fragment="a public http or https address")
def relative_link(sound: Any) -> Any:
    """The citation is a path without a host."""
    return with_source(sound, uri="/handbook/approvals")


@fault("KP-602", fragment="source.uri")
def bucket_path_as_link(sound: Any) -> Any:
    """Some passages are cited by their place in a bucket, which no browser opens."""
    return with_last(sound, lambda row: put_source(row, uri="s3://documents/handbook.pdf"))


@fault("KP-602", fragment="source.uri")
def local_file_as_link(sound: Any) -> Any:
    """Some passages are cited by a path on the machine that indexed them."""
    return with_last(sound, lambda row: put_source(row, uri="file:///srv/index/handbook.pdf"))


@fault("KP-602", fragment="source.uri")
def metadata_service_as_link(sound: Any) -> Any:
    """Some passages were fetched from the cloud's metadata address, and are cited by it."""
    return with_last(sound, lambda row: put_source(row, uri="http://169.254.169.254/latest/user-data"))


@fault("KP-603", fragment="a public source.uri on at least one result")
def citations_without_links(sound: Any) -> Any:
    """Citations are claimed, and no result says where it can be read."""
    return with_source(claiming(sound, "citations"), uri=None)
