import { useCallback, useEffect, useState } from "react";
import { getPermissions, type NamedChat, type Permission, Refused, revokePermission } from "@/api";
import { Json, visible } from "@/content/Json";
import { failureMessage } from "@/failure";
import { agents } from "@/state/agents";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";

const words = strings.shell;

interface PermissionsDialogProps {
  chat: NamedChat;
  onClose: () => void;
}

/** The calls that agents need not ask about in a chat; each can be revoked. */
export function PermissionsDialog({ chat, onClose }: PermissionsDialogProps) {
  const [listed, setListed] = useState<Permission[]>();
  const [problem, setProblem] = useState<string>();
  const report = useCallback((error: unknown) => setProblem(failureMessage(error)), []);
  useEffect(() => {
    let isOpen = true;
    getPermissions(chat.id)
      .then((found) => isOpen && setListed(found))
      .catch((error: unknown) => isOpen && report(error));
    return () => {
      isOpen = false;
    };
  }, [chat.id, report]);
  const revoke = async (id: string) => {
    setProblem(undefined);
    try {
      await revokePermission(chat.id, id);
    } catch (error) {
      // Another tab may have revoked it.
      if (!(error instanceof Refused && error.code === "not_found")) return report(error);
    }
    setListed((before) => before?.filter((each) => each.id !== id));
  };
  return (
    <Dialog open onClose={onClose} title={words.permissionsTitle} line={words.permissionsLine}>
      {problem && (
        <p role="alert" className="mt-2 text-block text-bad">
          {problem}
        </p>
      )}
      {!listed && !problem && <p className="mt-4 text-block text-ink-2">{strings.panel.loading}</p>}
      {listed?.length === 0 && <p className="mt-4 text-block text-ink-2">{words.noPermissions}</p>}
      <ul className="mt-3 divide-y">
        {listed?.map((permission) => (
          <Row key={permission.id} permission={permission} onRevoke={revoke} />
        ))}
      </ul>
    </Dialog>
  );
}

interface RowProps {
  permission: Permission;
  onRevoke: (id: string) => Promise<void>;
}

function Row({ permission: { id, agent, tool, input }, onRevoke }: RowProps) {
  const [busy, setBusy] = useState(false);
  const known = agents.use().find((each) => each.id === agent);
  const name = visible(tool);
  const revoke = async () => {
    setBusy(true);
    await onRevoke(id);
    setBusy(false);
  };
  return (
    <li className="py-3">
      <div className="flex items-start gap-3">
        <div className="min-w-0 flex-1">
          <p className="font-mono text-mono font-medium break-words">{name}</p>
          <p className="text-block text-ink-2">
            {input === undefined
              ? words.permissionAny(known?.name ?? agent)
              : words.permissionExact(known?.name ?? agent)}
          </p>
        </div>
        <Button disabled={busy} aria-label={words.revokeOf(name)} onClick={() => void revoke()}>
          {words.revoke}
        </Button>
      </div>
      {input !== undefined && (
        <div className="mt-2">
          <Json value={input} label={strings.parts.parameters} maxHeight={120} />
        </div>
      )}
    </li>
  );
}
