import { ChevronDown, ListFilter, Pause, Play, Search, X } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import type { Format } from "@/api";
import { inkOf } from "@/inspector/families";
import type { Counted, Filter } from "@/inspector/filtering";
import { type Chosen, nameOfFormat } from "@/inspector/formats";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";
import { Menu, MenuChoice, MenuItem, MenuLine, MenuSwitch } from "@/ui/Menu";

const words = strings.inspector;
const SMALL = "min-h-8! px-2! text-mono! max-md:min-h-11!";

interface FormatMenuProps {
  formats: readonly Format[];
  chosen: Chosen;
  onChoose: (chosen: Chosen) => void;
}

/** Selects the protocol and client version of the last column. */
export function FormatMenu({ formats, chosen, onChoose }: FormatMenuProps) {
  const profiles = formats.find(({ name }) => name === chosen.name)?.profiles ?? [];
  const choose = (name: string) => {
    const [profile = ""] = formats.find((format) => format.name === name)?.profiles ?? [];
    onChoose({ name, profile });
  };
  const trigger = (
    <Button className={SMALL}>
      <span className="font-normal text-ink-2 @max-lg:sr-only">{words.formats}</span>{" "}
      {nameOfFormat(chosen)}
      <ChevronDown aria-hidden className="size-3.5" />
    </Button>
  );
  return (
    <Menu trigger={trigger} align="start">
      <MenuChoice
        label={words.formats}
        value={chosen.name}
        onChoose={choose}
        options={formats.map(({ name }) => ({
          value: name,
          name: words.formatNames[name] ?? name,
        }))}
      />
      {profiles.length > 1 && (
        <>
          <MenuLine />
          <MenuChoice
            label={words.profiles}
            value={chosen.profile}
            onChoose={(profile) => onChoose({ ...chosen, profile })}
            options={profiles.map((profile) => ({ value: profile, name: profile }))}
          />
        </>
      )}
    </Menu>
  );
}

interface FilterProps {
  filter: Filter;
  types: readonly Counted[];
  onFilter: (filter: Filter) => void;
}

/** Filters rows by text and by event type. */
export function Filtering({ filter, types, onFilter }: FilterProps) {
  const toggle = (type: string, isOn: boolean) => {
    const others = filter.types.filter((other) => other !== type);
    onFilter({ ...filter, types: isOn ? [...others, type] : others });
  };
  const chosen = words.typesChosen(filter.types.length);
  return (
    <>
      <div className="relative min-w-24 flex-1">
        <Search
          aria-hidden
          className="pointer-events-none absolute top-1/2 start-2 size-3.5 -translate-y-1/2 text-ink-2"
        />
        <input
          type="search"
          aria-label={words.filter}
          placeholder={words.filterHint}
          value={filter.text}
          onChange={(event) => onFilter({ ...filter, text: event.target.value })}
          className="h-8 w-full rounded-lg border bg-transparent pe-2 ps-7 text-mono placeholder:text-ink-2 max-md:h-11 max-md:text-[16px]"
        />
      </div>
      <Menu
        trigger={
          <Button className={SMALL} aria-label={`${words.types}: ${chosen}`}>
            <ListFilter aria-hidden className="size-3.5" />
            {chosen}
          </Button>
        }
      >
        <DropdownMenu.Label className="sr-only">{words.types}</DropdownMenu.Label>
        <MenuItem icon={<X aria-hidden />} onSelect={() => onFilter({ ...filter, types: [] })}>
          {words.allTypes}
        </MenuItem>
        <MenuLine />
        {types.map(({ type, count }) => (
          <MenuSwitch
            key={type}
            name={`${type} ${words.times(count)}`}
            className={`font-mono text-mono ${inkOf(type)}`}
            checked={filter.types.includes(type)}
            onChange={(isOn) => toggle(type, isOn)}
          />
        ))}
      </Menu>
    </>
  );
}

interface PauseProps {
  /** Entries received since the pause. */
  missed: number | undefined;
  onToggle: () => void;
}

/** Pauses the list, not the run. */
export function PauseButton({ missed, onToggle }: PauseProps) {
  const paused = missed !== undefined;
  const Icon = paused ? Play : Pause;
  return (
    <Button className={SMALL} kind={paused ? "solid" : "outline"} onClick={onToggle}>
      <Icon aria-hidden className="size-3.5" />
      {paused ? words.resume : <span className="@max-md:sr-only">{words.pause}</span>}
      {paused && missed > 0 && (
        <span className="tabular-nums">· {words.waitingEvents(missed)}</span>
      )}
    </Button>
  );
}
