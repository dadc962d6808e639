"""`infer`, `atc` and `throughput`, on a model of two operators written byte by byte."""

from __future__ import annotations

import json
import os
import stat
import struct
from pathlib import Path

import pytest

import ascend_sn
from ascend_sn.cli.main import main

pytest.importorskip("onnxruntime")


def field(number: int, value: int | bytes | str) -> bytes:
    """One field of a protobuf message: a varint, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(value: int) -> bytes:
    data = b""
    while value > 127:
        data, value = data + bytes([value & 127 | 128]), value >> 7
    return data + bytes([value])


def value_info(name: str, *dims: int | str) -> bytes:
    shape = b"".join(field(1, field(1, dim) if isinstance(dim, int) else field(2, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """relu(x @ w), x of shape (batch, 4)."""
    weights = field(1, 4) + field(1, 3) + field(2, 1) + field(8, "w") + field(9, struct.pack("<12f", *range(12)))
    graph = field(1, field(1, "x") + field(1, "w") + field(2, "h") + field(3, "product") + field(4, "MatMul"))
    graph += field(1, field(1, "h") + field(2, "y") + field(3, "relu") + field(4, "Relu")) + field(2, "g")
    graph += field(5, weights) + field(11, value_info("x", "batch", 4)) + field(12, value_info("y", "batch", 3))
    path = tmp_path_factory.mktemp("model") / "model.onnx"
    path.write_bytes(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13)))
    return path


def call(*words: str | Path) -> int:
    with pytest.raises(SystemExit) as stopped:
        main([str(word) for word in words])
    return int(stopped.value.code or 0)


def test_infer_leaves_a_run_with_the_operators(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"

    assert call("infer", "--model", model, "--input-shape", "2,4", "--runs", "5", "--output", folder) == 0

    said = capsys.readouterr()
    assert "MatMul" in said.out
    assert "CPUExecutionProvider" in said.err
    with ascend_sn.open(folder) as run:
        counts = dict(run.sql("select op_type, count(*) from kernel group by 1").fetchall())
        ((shapes,),) = run.sql("select distinct input_shapes from kernel where op_type = 'MatMul'").fetchall()
    assert counts["MatMul"] == 5
    assert shapes.startswith("2,4")


def test_infer_names_what_is_wrong(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.onnx").write_bytes(b"not a model")

    assert call("infer", "--model", tmp_path / "none.onnx", "--output", tmp_path / "a") == 3
    assert "no such model file" in capsys.readouterr().err
    assert call("infer", "--model", tmp_path / "bad.onnx", "--output", tmp_path / "b") == 3
    assert "bad.onnx: ONNX Runtime" in capsys.readouterr().err
    assert call("infer", "--model", model, "--input-shape", "z:1,4", "--output", tmp_path / "c") == 2
    assert "the inputs are x" in capsys.readouterr().err
    assert call("infer", "--model", model, "--input-shape", "2,a", "--output", tmp_path / "c") == 2


def test_atc_of_the_guide_without_the_vendor(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    options = [f"--model={model}", "--framework=5", f"--output={tmp_path}/out", "--soc_version=Ascend310"]

    assert call("atc", *options, "--profiling_mode=memory", f"--profiling_output={tmp_path}/run") == 0

    said = capsys.readouterr()
    assert "atc is not installed" in said.err
    assert call("analyze", "--input", tmp_path / "run", "--top_k", "20") == 0


def test_atc_is_called_with_its_own_options(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "atc"
    program.write_text('#!/bin/sh\necho "called: $*"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    own = ["--framework", "5", "--output", "o", "--soc_version", "Ascend310", "--input_shape=x:1,4", "--log=error"]

    assert call("atc", "--model", model, *own, "--profiling_output", tmp_path / "run") == 0

    expected = (
        f"called: --model={model} --framework=5 --output=o --soc_version=Ascend310 --input_shape=x:1,4 --log=error"
    )
    assert expected in capfd.readouterr().out


def test_atc_that_fails_ends_it(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "atc"
    program.write_text("#!/bin/sh\nexit 7\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    assert call("atc", "--model", model, "--profiling_output", tmp_path / "run") == 3
    assert "exit code 7" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_throughput_makes_the_model_and_prints_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "made_models.py").write_text("def doubling():\n    return lambda x: x * 2\n")
    monkeypatch.chdir(tmp_path)

    code = call(
        "throughput", "made_models:doubling", "--input_shape", "3,2", "--batch_sizes", "1,2", "--runs", "2",
        "--format", "json",
    )  # fmt: skip

    printed = json.loads(capsys.readouterr().out)
    assert code == 0
    assert printed["schema"] == "ascend-sn/throughput/1"
    assert [row["batch_size"] for row in printed["results"]] == [1, 2]


def test_throughput_looks_at_its_options_before_it_runs_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "noisy_models.py").write_text("print('the program ran')\n")
    monkeypatch.chdir(tmp_path)

    code = call("throughput", "noisy_models:main", "--input-shape", "x")
    said = capsys.readouterr()

    assert code == 2
    assert (said.out, said.err) == ("", "ascend-sn: 'x' is no list of whole numbers such as 3,224,224\n")


@pytest.mark.parametrize("words", [["nothing"], ["made_nowhere:x"], ["os:sep", "--batch-sizes", "0"]])
def test_throughput_names_what_is_wrong(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    if words[0] == "os:sep":
        words[0] = "builtins:list"
    assert call("throughput", *words, "--input-shape", "1") == 2
    assert capsys.readouterr().err
