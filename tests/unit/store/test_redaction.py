"""Stand-ins for paths, users and hosts in texts as traces hold them."""

from __future__ import annotations

import pytest

from ascend_sn.store.redaction import Redactor


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/lihua/proj x/train.py(33): forward", "path-1/train.py(33): forward"),
        ("C:\\Users\\lihua\\model\\net.py", "path-1/net.py"),
        (r'{"cwd": "\/data\/acme\/run", "name": "x"}', '{"cwd": "path-1", "name": "x"}'),
        (r"{\"dir\": \"C:\\\\acme\\\\run\"}", r"{\"dir\": \"path-1\"}"),
        ("triton_gemm (/home/lihua/.cache/torch/ab/kernel.py:12)", "triton_gemm (path-1/kernel.py:12)"),
        ("void k<float>(int*, /tmp/acme/k.cu)", "void k<float>(int*, path-1/k.cu)"),
        ("\\\\fileserver\\share\\x.csv", "path-1/x.csv"),
        ("file:///data/acme/a.json", "path-1/a.json"),
        ("%2Fdata%2Facme%2Fx", "path-1"),
        ("/数据/模型/训练.py", "path-1/训练.py"),
        ("rank0/out/kernel_details.csv: bad", "path-1/kernel_details.csv: bad"),
        ("https://git.acme.io:8443/team/repo", "https://host-1:8443/path-1"),
        ("tcp://10.1.2.3:29500", "tcp://host-1:29500"),
        ("bob@acme.com", "user-1@host-1"),
        ("NODE-A_4711_20240101120000123_ascend_pt", "host-1_4711_20240101120000123_ascend_pt"),
        ('{"user": "wangwu", "host": "n17"} wangwu on n17', '{"user": "user-1", "host": "host-1"} user-1 on host-1'),
    ],
)  # fmt: skip
def test_what_names_somebody_or_some_place_is_replaced(text: str, shown: str) -> None:
    redactor = Redactor()
    redactor.learn(text)

    assert redactor.text(text) == shown


@pytest.mark.parametrize(
    "text", ["aten::mm", "12 tokens/s, 0.5 / 2", "次/秒", "ascend-sn/analyze/1", "MatMulV2_ND/NZ", "80% of 3 ms", "2/4"]
)
def test_names_and_figures_stay(text: str) -> None:
    redactor = Redactor(users=["lihua"])
    redactor.learn(text)

    assert redactor.text(text) == text


def test_the_same_thing_has_the_same_stand_in() -> None:
    redactor = Redactor(hosts=["node-a.acme.com"])
    redactor.learn("/home/lihua/a.py")

    shown = [redactor.text(text) for text in ("/home/lihua/a.py", "/home/lihua/b.py", "/mnt/c.py", "Lihua@NODE-A")]

    assert shown == ["path-1/a.py", "path-1/b.py", "path-2/c.py", "user-1@host-1"]


def test_a_user_of_one_text_is_replaced_in_another() -> None:
    redactor = Redactor()
    redactor.learn("/home/lihua/x")

    assert redactor.text("MatMul_lihua_v2, LIHUA, lihuang") == "MatMul_user-1_v2, user-1, lihuang"


def test_a_common_account_takes_no_word_away() -> None:
    redactor = Redactor()
    redactor.learn("/home/data/x")

    assert redactor.text("data loader") == "data loader"


def test_nodes_of_a_model_keep_their_names() -> None:
    redactor = Redactor(node_names=True)

    assert redactor.text("/layer.0/Conv") == "/layer.0/Conv"
    assert redactor.text("/home/x/Conv") == "path-1"
    assert redactor.text("/acme/model.onnx") == "path-2/model.onnx"


def test_a_file_alone_is_no_place() -> None:
    redactor = Redactor()

    assert [redactor.place(text) for text in ("train.trace", ".", "secret", "a/b.csv")] == [
        "train.trace", ".", "path-1", "path-2/b.csv",
    ]  # fmt: skip


def test_a_host_that_is_called_like_a_stand_in_is_replaced() -> None:
    redactor = Redactor(hosts=["host-7", "host-1"])

    assert redactor.text("host-7, host-1") == "host-1, host-2"


def test_what_one_knows_another_knows_again() -> None:
    first = Redactor(hosts=["node-a.lab"], users=["lihua"])
    shown = [first.text(text) for text in ("/srv/b/x", "/srv/a/x", "lihua on node-a")]

    other = Redactor(users=["somebody"])
    other.know_again(first.known())

    assert [other.text(text) for text in ("/srv/a/x", "/srv/b/x", "node-a of lihua", "somebody")] == [
        shown[1], shown[0], "host-1 of user-1", "somebody",
    ]  # fmt: skip
    assert other.known() == first.known()


@pytest.mark.parametrize("known", [b"", b"[]", b"\xff", b'{"names": 3}'])
def test_what_is_no_list_of_stand_ins_is_refused(known: bytes) -> None:
    with pytest.raises(ValueError, match="no list of stand-ins"):
        Redactor().know_again(known)
