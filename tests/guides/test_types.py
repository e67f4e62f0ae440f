"""The code of the documents has no type errors, with each version that its client names."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from guides.bundles import ROOT
from guides.cells import Client
from guides.clients import CLIENTS
from support.ai_sdk_client import CLIENTS as PACKAGES

COMPILER = ROOT / "web/node_modules/typescript/bin/tsc"
OPTIONS = {
    "strict": True,
    "noEmit": True,
    "noUnusedLocals": True,
    "noUnusedParameters": True,
    "jsx": "react-jsx",
    "module": "esnext",
    "moduleResolution": "bundler",
    "target": "es2022",
    "lib": ["es2023", "dom", "dom.iterable"],
    "skipLibCheck": True,
    "types": [],
}
VITE = """
interface ImportMetaEnv { readonly VITE_MOBOX_URL?: string }
interface ImportMeta { readonly env: ImportMetaEnv }
declare module "*.css";
"""
"""What Vite declares in a new project."""


@pytest.fixture(params=CLIENTS, ids=lambda client: client.id)
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with the document's files, as in a developer's project."""
    client: Client = request.param
    (tmp_path / "node_modules").symlink_to(PACKAGES / "node_modules")
    for name, code in client.page.files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(code)
    (tmp_path / "env.d.ts").write_text(VITE)
    paths = {name: [f"./node_modules/{package}"] for name, package in client.page.alias.items()}
    config = {"compilerOptions": {**OPTIONS, "paths": paths}, "exclude": ["node_modules"]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(config))
    return tmp_path


def type_errors(node: str, project: Path) -> str:
    command = [node, str(COMPILER), "--project", str(project)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def test_the_documented_code_has_no_type_errors(node: str, project: Path) -> None:
    assert type_errors(node, project) == ""


def test_a_type_error_would_be_found(node: str, project: Path) -> None:
    (project / "wrong.tsx").write_text("export const wrong: string = 1;\n")
    assert "wrong.tsx" in type_errors(node, project)
