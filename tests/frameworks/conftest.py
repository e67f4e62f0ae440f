"""Failed assertions of the scenarios are explained as those of tests are."""

import pytest

pytest.register_assert_rewrite("frameworks.matrix")
