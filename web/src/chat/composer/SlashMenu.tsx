import { MessageSquare } from "lucide-react";
import { useEffect, useRef } from "react";
import { AgentIcon } from "@/chat/AgentIcon";
import type { SlashItem } from "@/chat/composer/slash";
import type { Slash } from "@/chat/composer/useSlash";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";

const words = strings.composer.slash;
const GROUPS = [
  { kind: "agent", name: words.agents },
  { kind: "starter", name: words.starters },
] as const;

interface SlashMenuProps {
  slash: Slash;
  /** The composer is in the middle of the page: there is more room below it. */
  isBelow?: boolean;
}

/** Agents and starters beside the composer. The focus stays in the text field. */
export function SlashMenu({ slash, isBelow }: SlashMenuProps) {
  const { id, items, isOpen } = slash;
  return (
    <>
      <p role="status" className="sr-only">
        {isOpen ? words.found(items.length) : ""}
      </p>
      {isOpen && (
        <div
          id={id}
          role="listbox"
          aria-label={words.name}
          className={classes(
            "absolute inset-x-0 z-30 max-h-[min(20rem,45dvh)] overflow-y-auto rounded-block border bg-ground p-1 shadow-lg",
            isBelow ? "max-md:bottom-full max-md:mb-2 md:top-full md:mt-2" : "bottom-full mb-2",
          )}
        >
          {GROUPS.map(({ kind, name }) => (
            <Group
              key={kind}
              name={name}
              slash={slash}
              items={items.filter((each) => each.kind === kind)}
            />
          ))}
        </div>
      )}
    </>
  );
}

interface GroupProps {
  name: string;
  slash: Slash;
  items: SlashItem[];
}

function Group({ name, slash, items }: GroupProps) {
  if (items.length === 0) return null;
  return (
    // biome-ignore lint/a11y/useSemanticElements: options of a listbox are grouped by a role
    <div role="group" aria-label={name}>
      <p
        aria-hidden
        className="px-2 pt-2 pb-1 text-label font-medium tracking-wide text-ink-2 uppercase"
      >
        {name}
      </p>
      {items.map((item) => (
        <Option
          key={item.id}
          id={slash.optionId(item)}
          item={item}
          isActive={slash.items[slash.active] === item}
          onChoose={() => slash.choose(item)}
        />
      ))}
    </div>
  );
}

interface OptionProps {
  id: string;
  item: SlashItem;
  isActive: boolean;
  onChoose: () => void;
}

function Option({ id, item, isActive, onChoose }: OptionProps) {
  const row = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isActive) row.current?.scrollIntoView({ block: "nearest" });
  }, [isActive]);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are handled by the text field
    // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the text field
    <div
      ref={row}
      id={id}
      role="option"
      aria-selected={isActive}
      // The text field must not lose the focus.
      onMouseDown={(event) => event.preventDefault()}
      onClick={onChoose}
      className={classes(
        "flex min-h-9 cursor-pointer items-center gap-2 rounded-small px-2 py-1 text-block max-md:min-h-11",
        isActive ? "bg-ground-3" : "hover:bg-ground-2",
      )}
    >
      {item.kind === "agent" ? (
        <>
          <AgentIcon icon={item.agent.icon} />
          <span className="shrink-0 font-medium">{item.agent.name}</span>
          <span className="min-w-0 truncate text-ink-2">{item.agent.description}</span>
        </>
      ) : (
        <>
          <MessageSquare aria-hidden className="mx-0.5 size-4 shrink-0 text-ink-2" />
          <span className="min-w-0 truncate">{item.text}</span>
        </>
      )}
    </div>
  );
}
