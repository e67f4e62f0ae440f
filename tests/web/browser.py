"""Browser features that these tests switch off, because our pages do not use them."""

from __future__ import annotations

from typing import Final

__all__ = ["LEFT_OUT"]

ADDRESS_BAR: Final = ("WebUIOmniboxAimPopup", "WebUIOmniboxPopup")
"""The browser's own pages for the address bar, which it loads with every tab."""
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
"""Repeated here, because the browser uses only the last list."""

LEFT_OUT: Final = f"--disable-features={','.join((*ADDRESS_BAR, *BY_PLAYWRIGHT))}"
