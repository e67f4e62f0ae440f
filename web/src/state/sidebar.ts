import { isBoolean, stored } from "@/state/stored";

/** Whether the chat list is shown beside the chat, where there is room for it. */
export const sidebarShown = stored("mobox:sidebar", true, isBoolean);

/** The buttons that hide and show it: the focus moves between them. */
export const HIDE_SIDEBAR = "hide-sidebar";
export const SHOW_SIDEBAR = "show-sidebar";

/** Hides or shows it, and keeps the focus, if one of its buttons has it. */
export function toggleSidebar(): void {
  const isShown = !sidebarShown.get();
  const hadFocus = [HIDE_SIDEBAR, SHOW_SIDEBAR].includes(document.activeElement?.id ?? "");
  sidebarShown.set(isShown);
  if (!hadFocus) return;
  const button = isShown ? HIDE_SIDEBAR : SHOW_SIDEBAR;
  requestAnimationFrame(() => document.getElementById(button)?.focus());
}
