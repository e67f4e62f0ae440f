import { Keyboard, Settings } from "lucide-react";
import { agents, DEMO, isOnlyDemo, mode } from "@/state/agents";
import { keepOpen } from "@/state/folds";
import { THEMES, theme } from "@/state/theme";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";
import { Menu, MenuChoice, MenuItem, MenuLine, MenuSwitch } from "@/ui/Menu";

/** What a person prefers; the browser remembers it. */
export function SettingsMenu({ onHelp }: { onHelp: () => void }) {
  const [chosen, setTheme] = theme.use();
  const [open, setOpen] = keepOpen.use();
  return (
    <Menu
      align="start"
      side="top"
      className="w-64"
      trigger={
        <Button kind="quiet" className="flex-1 justify-start text-ink-2">
          <Settings aria-hidden className="size-4" />
          {strings.shell.settings}
        </Button>
      }
    >
      <MenuChoice
        label={strings.shell.theme}
        value={chosen}
        onChoose={setTheme}
        options={THEMES.map((value) => ({ value, name: strings.shell.themes[value] }))}
      />
      <MenuLine />
      <MenuSwitch name={strings.shell.keepOpen} checked={open} onChange={setOpen} />
      <DemoSwitch />
      <MenuLine />
      <MenuItem icon={<Keyboard aria-hidden />} onSelect={onHelp}>
        {strings.shell.help}
      </MenuItem>
    </Menu>
  );
}

function DemoSwitch() {
  const known = agents.use();
  const [how, setMode] = mode.use();
  if (!known.some(({ id }) => id === DEMO)) return null;
  const isOnly = isOnlyDemo(known);
  return (
    <MenuSwitch
      name={strings.shell.demoMode}
      line={isOnly ? strings.shell.demoModeOnly : strings.shell.demoModeHint}
      checked={isOnly || how === "demo"}
      disabled={isOnly}
      onChange={(isDemo) => setMode(isDemo ? "demo" : "live")}
    />
  );
}
