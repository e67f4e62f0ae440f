"""docs/security.md says what tests/hostile tries, and what each sandbox does about it."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

from hostile.attacks import every

SCRIPT = Path(__file__).parents[2] / "scripts" / "security-table"


def test_the_table_of_attacks_is_up_to_date() -> None:
    loader = SourceFileLoader("security_table", str(SCRIPT))
    spec = spec_from_loader("security_table", loader)
    assert spec is not None
    script = module_from_spec(spec)
    loader.exec_module(script)
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "run `make golden`"


def test_every_attack_that_process_does_not_stop_has_a_reason() -> None:
    for attack in every().values():
        assert attack.why or (attack.process, attack.unprivileged) == ("stopped", "stopped")
