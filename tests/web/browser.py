"""What the browser of these tests leaves out, because no page of ours has to do with it."""

from __future__ import annotations

from typing import Final

__all__ = ["LEFT_OUT"]

ADDRESS_BAR: Final = ("WebUIOmniboxAimPopup", "WebUIOmniboxPopup")
"""Pages of its own that it loads with every tab, for what is typed into a bar that nobody sees."""
BY_PLAYWRIGHT: Final = (
    "AimEnabled",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "TcpPortRandomizationWin",
    "ThirdPartyStoragePartitioning",
    "msEdgeUpdateLaunchServicesPreferredVersion",
    "msForceBrowserSignIn",
)
"""Named again, because the browser reads the last list only."""

LEFT_OUT: Final = f"--disable-features={','.join((*ADDRESS_BAR, *BY_PLAYWRIGHT))}"
