"""Who may ask: nothing is answered to a wrong token, a foreign page, or a name that is not the server's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from ascend_sn.insight.app import application
from ascend_sn.insight.assets import asset_routes
from ascend_sn.insight.guard import BODY_LIMIT, CONTENT_POLICY, Guard
from tests.timeline import timeline
from tests.unit.insight.drawn_runs import opened_of, write_run

TOKEN = "right-token"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Starlette:
    folder = tmp_path_factory.mktemp("guarded")
    web = folder / "web"
    (web / "assets").mkdir(parents=True)
    (web / "index.html").write_text("<!doctype html><title>page</title>")
    (web / "assets" / "main-1.js").write_text("0;")
    (web / "assets" / "notes.txt").write_text("no asset")
    (web / "secret.js").write_text("outside of the assets")
    served = opened_of(write_run(timeline("r0 s1 |SECRETNAME|"), folder / "run"), folder / "cache")
    return application(served, pages=asset_routes(web))


def client(app: Starlette, **options: Any) -> TestClient:
    guard = Guard(app, token=TOKEN, **options)
    return TestClient(guard, base_url="http://127.0.0.1:8123", follow_redirects=False)


def test_the_token_of_the_address_becomes_a_cookie(app: Starlette) -> None:
    browser = client(app)

    entered = browser.get(f"/?token={TOKEN}")

    assert entered.status_code == 303
    assert entered.headers["location"] == "./"
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert TOKEN not in entered.text
    assert browser.get("/").text.startswith("<!doctype html>")
    assert browser.get("/api/v1/session").json()["runs"][0]["state"] == "ready"


@pytest.mark.parametrize(
    "path", ["/", "/?token=wrong", "/?token=", f"/?token={TOKEN}&token={TOKEN}", "/assets/main-1.js",
             "/api/v1/session", "/api/v1/runs/a/tracks", "/api/v1/runs/a/names", "/nothing"]
)  # fmt: skip
@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}, {"Cookie": "a=b; ascend_sn_x=y"},
                {"Cookie": "=;\x7f;;"}]
)  # fmt: skip
def test_without_the_token_nothing_is_seen(app: Starlette, path: str, headers: dict[str, str]) -> None:
    found = client(app).get(path, headers=headers)

    said = "no access: open the address that `ascend-sn view` printed"
    assert found.status_code == 403
    if path.startswith("/api/"):
        assert found.json() == {"error": {"code": "no_access", "message": said, "hint": ""}}
    else:
        assert found.text == f"{said}\n"
    assert found.headers["content-security-policy"] == CONTENT_POLICY


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8123", "", "[", "2130706433"])
def test_other_names_are_not_answered(app: Starlette, host: str) -> None:
    assert client(app).get("/api/v1/session", headers={**BEARER, "Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:9", "LOCALHOST", "[::1]:8123", "hub.example"])
def test_own_names_are_answered_on_any_port(app: Starlette, host: str) -> None:
    found = client(app, hosts=frozenset({"hub.example"})).get("/api/v1/session", headers={**BEARER, "Host": host})

    assert found.status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:9", "null", "http://[", "file://"])
def test_other_pages_are_not_answered(app: Starlette, origin: str) -> None:
    found = client(app).put("/api/v1/runs/a/marks", json=[], headers={**BEARER, "Origin": origin})

    assert found.status_code == 403


def test_the_own_page_and_that_of_the_proxy_are(app: Starlette) -> None:
    browser = client(app, origin="https://hub.example")

    for origin in ("http://127.0.0.1:8123", "https://hub.example"):
        assert browser.put("/api/v1/runs/a/marks", json=[], headers={**BEARER, "Origin": origin}).status_code == 200


def test_embedding_pages_of_other_sites_are_refused(app: Starlette) -> None:
    embedded = {**BEARER, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}

    assert client(app).get("/api/v1/session", headers=embedded).status_code == 403


def test_headers_forbid_what_the_page_does_not_need(app: Starlette) -> None:
    found = client(app).get("/", headers=BEARER)

    policy = found.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "http:" not in policy.replace("http://127.0.0.1:*", "").replace("http://localhost:*", "")
    assert found.headers["x-content-type-options"] == "nosniff"
    assert found.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path", ["../secret.js", "..%2fsecret.js", "%2e%2e/secret.js", "/etc/passwd", "a/../../secret.js", "main-1.js%00",
             "notes.txt", ".", "", "%2e%2e%2f%2e%2e%2f%2e%2e%2fetc%2fpasswd"]
)  # fmt: skip
def test_only_assets_are_handed_out(app: Starlette, path: str) -> None:
    found = client(app).get(f"/assets/{path}", headers=BEARER)

    assert found.status_code == 404
    assert "outside" not in found.text


def test_assets_are_kept_by_the_browser(app: Starlette) -> None:
    found = client(app).get("/assets/main-1.js", headers=BEARER)

    assert (found.status_code, found.text) == (200, "0;")
    assert "immutable" in found.headers["cache-control"]
    assert client(app).get("/api/v1/session", headers=BEARER).headers["cache-control"] == "no-store"


def test_other_methods_and_large_bodies_are_refused(app: Starlette) -> None:
    browser = client(app)

    assert browser.post("/api/v1/session", headers=BEARER).status_code == 405
    assert browser.put("/api/v1/runs/a/marks", content=b"[" + b" " * BODY_LIMIT, headers=BEARER).status_code == 413
    assert (
        browser.put("/api/v1/runs/a/marks", content=b"[]", headers={**BEARER, "Content-Length": "x"}).status_code == 413
    )


def test_a_large_body_that_hides_its_length_is_cut_off(app: Starlette) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(BODY_LIMIT // 65_536 + 2):
            yield b" " * 65_536

    headers = {**BEARER, "Content-Type": "application/json"}

    assert client(app).put("/api/v1/runs/a/marks", content=pieces(), headers=headers).status_code == 413


def test_behind_a_proxy_whole_and_shortened_paths_are_understood(app: Starlette) -> None:
    browser = client(app, base_path="/user/me/proxy/8123/", origin="https://hub.example")

    assert browser.get("/user/me/proxy/8123/api/v1/session", headers=BEARER).status_code == 200
    assert browser.get("/api/v1/session", headers=BEARER).status_code == 200
    entered = browser.get(f"/user/me/proxy/8123/?token={TOKEN}")
    assert entered.headers["location"] == "./"
    assert "Path=/user/me/proxy/8123/" in entered.headers["set-cookie"]
    assert "Secure" in entered.headers["set-cookie"]


def test_two_servers_have_cookies_of_their_own(app: Starlette) -> None:
    assert Guard(app, token="a").cookie != Guard(app, token="b").cookie


def test_where_the_page_was_not_built_it_says_how(app: Starlette, tmp_path: Path) -> None:
    found = TestClient(application_without_page(tmp_path)).get("/")

    assert found.status_code == 200
    assert "python hatch_build.py" in found.text


def application_without_page(folder: Path) -> Starlette:
    served = opened_of(write_run(timeline("r0 s1 |A|"), folder / "run"), folder / "cache")
    return application(served, pages=asset_routes(folder / "nowhere"))
