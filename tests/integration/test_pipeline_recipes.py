"""The recipes of examples/ci run as their services would run them, as far as that goes without the services."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.blocks import REPOSITORY
from tests.integration.demo_repository import shell, shell_environment, write_files

RECIPES = REPOSITORY / "examples" / "ci"
SHELL = RECIPES / "gate.sh"
ACTION = RECIPES / "github" / "action.yml"
WORKFLOW = RECIPES / "github" / "workflow.yml"
TEMPLATE = RECIPES / "gitlab" / "performance-gate.yml"

PROGRAM = 'python train.py "$ASCEND_PROFILING_OUTPUT_PATH"'
_INPUT = re.compile(r"\$\{\{ inputs\.(\w+) \}\}")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The repository of the tutorial; it records where `ascend-sn run` says."""
    write_files(tmp_path)
    return tmp_path


def slow_down(repository: Path) -> None:
    model = repository / "model.py"
    model.write_text(model.read_text().replace("ENCODE_S = 0.05", "ENCODE_S = 0.12"))


def test_the_shell_recipe(repository: Path) -> None:
    env = shell_environment(repository, GATE_SERIES="shop", GATE_RECORD="yes")
    script = f"{SHELL} bash -c '{PROGRAM}'"

    first = shell(script, repository, env)
    slow_down(repository)
    second = shell(script, repository, {**env, "GATE_RECORD": "no"})
    crashed = shell(f"{SHELL} false", repository, env)
    nothing = shell(str(SHELL), repository, env)

    assert first.returncode == 0, first.stdout
    assert "begins with this run" in first.stdout
    assert second.returncode == 1, second.stdout
    assert "encode adds" in " ".join(second.stdout.split())
    assert "recorded in" not in second.stdout
    names = {path.name for path in (repository / "gate-result").iterdir()}
    assert names == {"recordings", "gate.xml", "gate.md", "gate.json", "gate.html"}
    assert (crashed.returncode, nothing.returncode) == (1, 2)


def composite(repository: Path, env: dict[str, str], inputs: dict[str, str]) -> tuple[int, str, dict[str, str]]:
    """Run the steps of the composite action; returns exit code, output and the outputs of the steps."""
    action = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    values = {name: str(about.get("default", "")) for name, about in action["inputs"].items()} | inputs
    files = {name: repository / f".{name.lower()}" for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    code, said = 0, ""
    for step in action["runs"]["steps"]:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "inputs become variables, never text of the script"
        own = {name: _INPUT.sub(lambda found: values[found[1]], text) for name, text in step["env"].items()}
        done = shell(step["run"], repository, {**env, **own, **{name: str(path) for name, path in files.items()}})
        code, said = done.returncode, said + done.stdout
        if code:
            break
    written = files["GITHUB_OUTPUT"].read_text().splitlines() if files["GITHUB_OUTPUT"].exists() else []
    return code, said, dict(line.split("=", 1) for line in written)


def test_the_action_of_github(repository: Path) -> None:
    env = shell_environment(repository)
    inputs = {"program": PROGRAM, "series": "shop"}

    first, begun, _ = composite(repository, env, {**inputs, "record": "yes"})
    shutil.rmtree(repository / "gate-result")  # each job has a folder of its own
    slow_down(repository)
    code, said, outputs = composite(repository, env, inputs)

    assert first == 0, begun
    assert code == 1, said
    assert "::error title=ascend-sn gate%3A Gate failed.::step time got worse" in said
    assert outputs == {"verdict": "failed"}
    assert "# Gate failed." in (repository / ".github_step_summary").read_text(encoding="utf-8")


def test_an_input_of_the_action_is_never_a_command(repository: Path) -> None:
    env = shell_environment(repository)

    composite(repository, env, {"program": PROGRAM, "series": 'x"; touch broken-in; "', "record": "yes"})

    assert not (repository / "broken-in").exists()


def test_the_workflow_uses_the_action_as_it_is() -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    action = yaml.safe_load(ACTION.read_text(encoding="utf-8"))

    steps = workflow["jobs"]["gate"]["steps"]
    (gate,) = (step for step in steps if step.get("uses", "").endswith("performance-gate"))
    required = {name for name, about in action["inputs"].items() if about.get("required")}
    assert required <= set(gate["with"]) <= set(action["inputs"])
    assert all("secrets." in text for text in (gate["with"]["history"], gate["env"]["ASCEND_SN_NOTIFY"]))


def gitlab(repository: Path, env: dict[str, str], **variables: str) -> tuple[int, str]:
    """Run the script of the template: one shell, the lines one after the other."""
    job: dict[str, Any] = yaml.safe_load(TEMPLATE.read_text(encoding="utf-8"))[".performance-gate"]
    assert all("pip install" in line for line in job["before_script"])
    own = {**env, **{name: str(value) for name, value in job["variables"].items()}, **variables}
    done = shell("\n".join(job["script"]), repository, own)
    return done.returncode, done.stdout


def test_the_template_of_gitlab(repository: Path) -> None:
    env = shell_environment(repository, CI_DEFAULT_BRANCH="main", GITLAB_CI="true")
    variables = {"GATE_PROGRAM": PROGRAM, "GATE_SERIES": "shop"}

    first, begun = gitlab(repository, env, **variables, CI_COMMIT_BRANCH="main")
    shutil.rmtree(repository / "gate-result")
    slow_down(repository)
    code, said = gitlab(repository, env, **variables, CI_COMMIT_BRANCH="faster")
    crashed, _ = gitlab(repository, env, **{**variables, "GATE_PROGRAM": "exit 7"}, CI_COMMIT_BRANCH="faster")

    assert first == 0, begun
    assert code == 1, said
    assert "recorded in" not in said
    report = json.loads((repository / "gate-result" / "gl-code-quality-report.json").read_text(encoding="utf-8"))
    assert "step time got worse" in report[0]["description"]
    assert (repository / "gate-result" / "gate.xml").exists()
    assert crashed == 7


@pytest.mark.parametrize("script", sorted(RECIPES.rglob("*.sh")), ids=lambda path: path.name)
def test_the_shell_can_read_it(script: Path) -> None:
    subprocess.run(["sh", "-n", script], check=True)
