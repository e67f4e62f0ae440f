import { Component, type ReactNode } from "react";
import { ErrorBlock } from "@/parts/ErrorBlock";
import { strings } from "@/strings";

/** Error boundary of the panel: failures such as missing code chunks do not break the chat. */
export class Boundary extends Component<{ children: ReactNode }, { isBroken: boolean }> {
  override state = { isBroken: false };

  static getDerivedStateFromError() {
    return { isBroken: true };
  }

  override render() {
    if (!this.state.isBroken) return this.props.children;
    return (
      <div className="p-3">
        <ErrorBlock network text={strings.panel.broken} onRetry={() => location.reload()} />
      </div>
    );
  }
}
