import { useEffect } from "react";
import { oneOf, stored } from "@/state/stored";

export const THEMES = ["light", "dark", "system"] as const;
type Theme = (typeof THEMES)[number];

/** The selected theme; public/theme.js reads the same before the first paint. */
export const theme = stored<Theme>("mobox:theme", "system", oneOf(...THEMES));

/** Applies the theme, and follows changes of the system's theme. */
export function useTheme(): void {
  const [chosen] = theme.use();
  useEffect(() => {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const apply = () => {
      const dark = chosen === "dark" || (chosen === "system" && system.matches);
      document.documentElement.classList.toggle("dark", dark);
    };
    apply();
    system.addEventListener("change", apply);
    return () => system.removeEventListener("change", apply);
  }, [chosen]);
}
