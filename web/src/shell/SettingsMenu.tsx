import { FileSearch, Keyboard, LogOut, Settings } from "lucide-react";
import type { SandboxFacts } from "@/api";
import { isHidden } from "@/brand";
import { credentials } from "@/key";
import { LANGUAGES } from "@/language";
import { everyStep, keepOpen } from "@/state/folds";
import { chooseLanguage, type LanguageChoice, languageChoice } from "@/state/language";
import { allowNotices, notifying, permission } from "@/state/notices";
import { PROTOCOLS, protocol } from "@/state/protocol";
import { navigate } from "@/state/route";
import { server } from "@/state/server";
import { THEMES, theme } from "@/state/theme";
import { useStore } from "@/store";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";
import { Menu, MenuChoice, MenuFact, MenuItem, MenuLine, MenuSwitch } from "@/ui/Menu";

/** The user's settings, stored in the browser, and where the server runs agents. */
export function SettingsMenu({ onHelp }: { onHelp: () => void }) {
  const [chosen, setTheme] = theme.use();
  const [protocolChoice, setProtocol] = protocol.use();
  const [open, setOpen] = keepOpen.use();
  const [every, setEvery] = everyStep.use();
  const { hasKey } = useStore(credentials);
  return (
    <Menu
      align="start"
      side="top"
      className="w-64"
      onOpen={() => void server.load()}
      trigger={
        <Button kind="quiet" className="flex-1 justify-start text-ink-2">
          <Settings aria-hidden className="size-4" />
          {strings.shell.settings}
        </Button>
      }
    >
      {!isHidden("theme") && (
        <MenuChoice
          label={strings.shell.theme}
          value={chosen}
          onChoose={setTheme}
          options={THEMES.map((value) => ({ value, name: strings.shell.themes[value] }))}
        />
      )}
      {!isHidden("language") && <LanguageChoices />}
      {!isHidden("protocol") && (
        <MenuChoice
          label={strings.shell.protocol}
          value={protocolChoice}
          onChoose={setProtocol}
          options={PROTOCOLS.map((value) => ({ value, ...strings.shell.protocols[value] }))}
        />
      )}
      <MenuLine />
      <MenuSwitch name={strings.activity.showEvery} checked={every} onChange={setEvery} />
      <MenuSwitch name={strings.shell.keepOpen} checked={open} onChange={setOpen} />
      <Notices />
      <MenuLine />
      {!isHidden("view") && (
        <MenuItem icon={<FileSearch aria-hidden />} onSelect={() => navigate({ page: "view" })}>
          {strings.viewing.menu}
        </MenuItem>
      )}
      {!isHidden("shortcuts") && (
        <MenuItem icon={<Keyboard aria-hidden />} onSelect={onHelp}>
          {strings.shell.help}
        </MenuItem>
      )}
      {hasKey && (
        <MenuItem icon={<LogOut aria-hidden />} onSelect={signOut}>
          {strings.shell.signOut}
        </MenuItem>
      )}
      <Server />
    </Menu>
  );
}

/** In the languages' own words, as a person may not read the page's. */
function LanguageChoices() {
  const [choice] = languageChoice.use();
  const known = Object.entries(LANGUAGES).map(([value, { name }]) => ({ value, name }));
  return (
    <MenuChoice
      label={strings.sidebar.language}
      value={choice}
      onChoose={(value) => chooseLanguage(value as LanguageChoice)}
      options={[{ value: "auto", name: strings.sidebar.languageOfBrowser }, ...known]}
    />
  );
}

/** Whether the person is notified of runs in the background. */
function Notices() {
  const [setting, set] = notifying.use();
  const allowed = permission();
  if (allowed === "unsupported") return null;
  if (allowed === "denied")
    return <MenuFact text={strings.noticing.setting} line={strings.noticing.settingBlocked} />;
  return (
    <MenuSwitch
      name={strings.noticing.setting}
      checked={setting === "on" && allowed === "granted"}
      onChange={(on) => (on ? void allowNotices() : set("off"))}
    />
  );
}

function Server() {
  const facts = server.use();
  if (!facts) return null;
  return (
    <>
      <MenuLine />
      <MenuFact text={whereOf(facts.sandbox)} line={sentence(facts.sandbox?.reason)} />
    </>
  );
}

const words = strings.shell.sandbox;

function whereOf(sandbox: SandboxFacts | null): string {
  if (!sandbox) return words.workers;
  if (sandbox.isolates) return words.isolated(sandbox.name);
  return sandbox.name === "process" ? words.process : words.other(sandbox.name);
}

/** The server's reasons begin in lower case, as they are also parts of lines in its log. */
const sentence = (reason?: string | null) =>
  reason ? `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.` : undefined;

/** Reloads, so that no data read with the key stays on the page. */
function signOut(): void {
  credentials.forget();
  location.assign(document.baseURI);
}
