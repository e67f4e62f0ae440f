import { Keyboard, LogOut, Settings } from "lucide-react";
import { credentials } from "@/key";
import { keepOpen } from "@/state/folds";
import { PROTOCOLS, protocol } from "@/state/protocol";
import { THEMES, theme } from "@/state/theme";
import { useStore } from "@/store";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";
import { Menu, MenuChoice, MenuItem, MenuLine, MenuSwitch } from "@/ui/Menu";

/** The user's settings, stored in the browser. */
export function SettingsMenu({ onHelp }: { onHelp: () => void }) {
  const [chosen, setTheme] = theme.use();
  const [protocolChoice, setProtocol] = protocol.use();
  const [open, setOpen] = keepOpen.use();
  const { hasKey } = useStore(credentials);
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
      <MenuChoice
        label={strings.shell.protocol}
        value={protocolChoice}
        onChoose={setProtocol}
        options={PROTOCOLS.map((value) => ({ value, ...strings.shell.protocols[value] }))}
      />
      <MenuLine />
      <MenuSwitch name={strings.shell.keepOpen} checked={open} onChange={setOpen} />
      <MenuLine />
      <MenuItem icon={<Keyboard aria-hidden />} onSelect={onHelp}>
        {strings.shell.help}
      </MenuItem>
      {hasKey && (
        <MenuItem icon={<LogOut aria-hidden />} onSelect={signOut}>
          {strings.shell.signOut}
        </MenuItem>
      )}
    </Menu>
  );
}

/** Reloads, so that no data read with the key stays on the page. */
function signOut(): void {
  credentials.forget();
  location.assign(document.baseURI);
}
