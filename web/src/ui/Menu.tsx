import { Check } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import { classes } from "@/ui/classes";
import { NameWithNote } from "@/ui/NameWithNote";

const ROW =
  "flex min-h-9 w-full cursor-pointer items-center gap-2 rounded-small px-2 text-start text-block " +
  "outline-none select-none data-[highlighted]:bg-ground-3 data-[disabled]:cursor-default " +
  "data-[disabled]:opacity-60 max-md:min-h-11 [&_svg]:size-4 [&_svg]:shrink-0";

interface MenuProps {
  /** The button that opens it. */
  trigger: ReactNode;
  children: ReactNode;
  align?: "start" | "end";
  side?: "top" | "bottom";
  className?: string;
  isWide?: boolean;
  onOpen?: () => void;
}

/** A dropdown menu. */
export function Menu({
  trigger,
  children,
  align = "end",
  side = "bottom",
  className,
  isWide = false,
  onOpen,
}: MenuProps) {
  return (
    <DropdownMenu.Root modal={false} onOpenChange={(isOpen) => isOpen && onOpen?.()}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align={align}
          side={side}
          sideOffset={4}
          collisionPadding={8}
          className={classes(
            "z-50 max-h-(--radix-dropdown-menu-content-available-height) min-w-44",
            isWide ? "max-w-[min(27rem,calc(100vw-1rem))]" : "max-w-[min(22rem,calc(100vw-1rem))]",
            "overflow-y-auto rounded-block border bg-ground p-1 shadow-lg",
            className,
          )}
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

interface MenuItemProps {
  icon?: ReactNode;
  children: ReactNode;
  onSelect: () => void;
  kind?: "plain" | "danger";
}

export function MenuItem({ icon, children, onSelect, kind = "plain" }: MenuItemProps) {
  return (
    <DropdownMenu.Item
      onSelect={onSelect}
      className={classes(ROW, kind === "danger" && "text-bad data-[highlighted]:bg-bad-ground")}
    >
      {icon}
      {children}
    </DropdownMenu.Item>
  );
}

interface Option<T extends string> {
  value: T;
  icon?: ReactNode;
  name: string;
  /** Beside the name. */
  note?: string;
  /** Below the name. */
  line?: string;
  /** Below the line; in red if it is a problem. */
  more?: string;
  isProblem?: boolean;
  disabled?: boolean;
}

interface ChoiceProps<T extends string> {
  label: string;
  value: T;
  onChoose: (value: T) => void;
  options: Option<T>[];
}

/** A radio item. */
export function MenuChoice<T extends string>({ label, value, onChoose, options }: ChoiceProps<T>) {
  return (
    <DropdownMenu.RadioGroup
      aria-label={label}
      value={value}
      onValueChange={(chosen) => onChoose(chosen as T)}
    >
      <MenuLabel>{label}</MenuLabel>
      {options.map(({ value, icon, disabled, ...words }) => (
        <DropdownMenu.RadioItem key={value} value={value} disabled={disabled} className={ROW}>
          {icon}
          <Words {...words} />
          <Mark />
        </DropdownMenu.RadioItem>
      ))}
    </DropdownMenu.RadioGroup>
  );
}

interface SwitchProps {
  name: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
  className?: string;
}

/** A checkbox item; the menu stays open. */
export function MenuSwitch({ name, checked, onChange, className }: SwitchProps) {
  return (
    <DropdownMenu.CheckboxItem
      checked={checked}
      onCheckedChange={onChange}
      onSelect={(event) => event.preventDefault()}
      className={classes(ROW, className)}
    >
      <Words name={name} />
      <Mark />
    </DropdownMenu.CheckboxItem>
  );
}

const MenuLabel = ({ children }: { children: ReactNode }) => (
  <DropdownMenu.Label className="px-2 pt-2 pb-1 text-label font-medium tracking-wide text-ink-2 uppercase">
    {children}
  </DropdownMenu.Label>
);

export const MenuLine = () => <DropdownMenu.Separator className="my-1 h-px bg-line" />;

/** An item that cannot be selected, with the reason. */
export const MenuNote = ({ name, line }: { name: string; line: string }) => (
  <DropdownMenu.Item disabled className={classes(ROW, "data-[disabled]:opacity-100")}>
    <span className="flex min-w-0 flex-1 flex-col py-1.5">
      <span className="truncate text-bad">{name}</span>
      <span className="text-mono leading-snug break-words text-ink-2">{line}</span>
    </span>
  </DropdownMenu.Item>
);

/** A fact below the items, in small text, with what explains it. */
export const MenuFact = ({ text, line }: { text: string; line?: string }) => (
  <DropdownMenu.Item disabled className={classes(ROW, "data-[disabled]:opacity-100")}>
    <span className="flex min-w-0 flex-1 flex-col gap-1 py-1.5 text-mono leading-snug break-words text-ink-2">
      <span>{text}</span> {line && <span>{line}</span>}
    </span>
  </DropdownMenu.Item>
);

type WordsProps = Pick<Option<string>, "name" | "note" | "line" | "more" | "isProblem">;

const Words = ({ name, note, line, more, isProblem }: WordsProps) => (
  <span className="flex min-w-0 flex-1 flex-col py-1.5">
    <NameWithNote name={name} note={note} />{" "}
    {line && <span className="text-mono leading-snug text-ink-2">{line}</span>}{" "}
    {more && (
      <span
        className={classes(
          "line-clamp-4 text-mono leading-snug break-words",
          isProblem ? "text-bad" : "text-ink-2 italic",
        )}
      >
        {more}
      </span>
    )}
  </span>
);

const Mark = () => (
  <DropdownMenu.ItemIndicator className="text-accent">
    <Check aria-hidden />
  </DropdownMenu.ItemIndicator>
);
