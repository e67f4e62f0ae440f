import {
  ClipboardCopy,
  Ellipsis,
  FileJson,
  FileText,
  Gauge,
  Pencil,
  Share2,
  ShieldCheck,
  Trash2,
} from "lucide-react";
import { useState } from "react";
import { isHidden } from "@/brand";
import { ChatUsageDialog } from "@/chat/ChatUsage";
import { copyChat, saveJson, saveMarkdown, type Whole } from "@/chat/exporting";
import type { ChatFacts } from "@/chat/facts";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";
import { Menu, MenuItem, MenuLine } from "@/ui/Menu";

interface ChatMenuProps {
  whole: () => Promise<Whole>;
  facts: ChatFacts;
  onRename: () => void;
  onPermissions: () => void;
  onShare: () => void;
  onDelete: () => void;
  /** Shows the result of an action. */
  onStatus: (words: string) => void;
}

/** Rename, share, permissions, usage, copy, export and delete. */
export function ChatMenu(props: ChatMenuProps) {
  const { whole, facts, onRename, onPermissions, onShare, onDelete, onStatus } = props;
  const [isUsageOpen, setUsageOpen] = useState(false);
  const withAll = (use: (chat: Whole) => unknown) => () => {
    whole()
      .then(use)
      .catch(() => onStatus(strings.chat.exportFailed));
  };
  const copy = async (chat: Whole) =>
    onStatus((await copyChat(chat)) ? strings.content.copied : strings.content.copyRefused);
  return (
    <>
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
        {!isHidden("share") && (
          <MenuItem icon={<Share2 aria-hidden />} onSelect={onShare}>
            {strings.sharing.share}
          </MenuItem>
        )}
        {!isHidden("permissions") && (
          <MenuItem icon={<ShieldCheck aria-hidden />} onSelect={onPermissions}>
            {strings.chat.permissions}
          </MenuItem>
        )}
        <MenuItem icon={<Gauge aria-hidden />} onSelect={() => setUsageOpen(true)}>
          {strings.answers.usageMenu}
        </MenuItem>
        {!isHidden("export") && (
          <>
            <MenuItem icon={<ClipboardCopy aria-hidden />} onSelect={withAll(copy)}>
              {strings.chat.copyAll}
            </MenuItem>
            <MenuItem icon={<FileText aria-hidden />} onSelect={withAll(saveMarkdown)}>
              {strings.chat.exportMarkdown}
            </MenuItem>
            <MenuItem icon={<FileJson aria-hidden />} onSelect={withAll(saveJson)}>
              {strings.chat.exportJson}
            </MenuItem>
          </>
        )}
        <MenuLine />
        <MenuItem kind="danger" icon={<Trash2 aria-hidden />} onSelect={onDelete}>
          {strings.chat.delete}
        </MenuItem>
      </Menu>
      <ChatUsageDialog facts={facts} open={isUsageOpen} onClose={() => setUsageOpen(false)} />
    </>
  );
}
