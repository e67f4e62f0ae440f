import {
  ClipboardCopy,
  Ellipsis,
  FileJson,
  FileText,
  Pencil,
  ShieldCheck,
  Trash2,
} from "lucide-react";
import { copyChat, saveJson, saveMarkdown, type Whole } from "@/chat/exporting";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";
import { Menu, MenuItem, MenuLine } from "@/ui/Menu";

interface ChatMenuProps {
  whole: () => Promise<Whole>;
  onRename: () => void;
  onPermissions: () => void;
  onDelete: () => void;
  /** Shows the result of an action. */
  onStatus: (words: string) => void;
}

/** Rename, permissions, copy, export and delete. */
export function ChatMenu({ whole, onRename, onPermissions, onDelete, onStatus }: ChatMenuProps) {
  const withAll = (use: (chat: Whole) => unknown) => () => {
    whole()
      .then(use)
      .catch(() => onStatus(strings.chat.exportFailed));
  };
  const copy = async (chat: Whole) =>
    onStatus((await copyChat(chat)) ? strings.content.copied : strings.content.copyRefused);
  return (
    <Menu
      trigger={
        <IconButton label={strings.chat.menu}>
          <Ellipsis aria-hidden />
        </IconButton>
      }
    >
      <MenuItem icon={<Pencil aria-hidden />} onSelect={onRename}>
        {strings.chat.rename}
      </MenuItem>
      <MenuItem icon={<ShieldCheck aria-hidden />} onSelect={onPermissions}>
        {strings.chat.permissions}
      </MenuItem>
      <MenuItem icon={<ClipboardCopy aria-hidden />} onSelect={withAll(copy)}>
        {strings.chat.copyAll}
      </MenuItem>
      <MenuItem icon={<FileText aria-hidden />} onSelect={withAll(saveMarkdown)}>
        {strings.chat.exportMarkdown}
      </MenuItem>
      <MenuItem icon={<FileJson aria-hidden />} onSelect={withAll(saveJson)}>
        {strings.chat.exportJson}
      </MenuItem>
      <MenuLine />
      <MenuItem kind="danger" icon={<Trash2 aria-hidden />} onSelect={onDelete}>
        {strings.chat.delete}
      </MenuItem>
    </Menu>
  );
}
