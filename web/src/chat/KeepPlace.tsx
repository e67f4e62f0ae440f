import { Component, type RefObject } from "react";

interface KeepPlaceProps {
  /** Which message is the first. */
  first: string | undefined;
  scroller: RefObject<HTMLElement | null>;
}

/**
 * Keeps what is read where it is when messages come before it. A class, since only those are asked
 * right before the page changes. Browsers that do the same by themselves must not do it too.
 */
export class KeepPlace extends Component<KeepPlaceProps> {
  override getSnapshotBeforeUpdate(before: KeepPlaceProps): number | null {
    const list = this.props.scroller.current;
    if (!list || !before.first || before.first === this.props.first) return null;
    list.style.overflowAnchor = "none";
    return list.scrollHeight - list.scrollTop;
  }

  override componentDidUpdate(_: KeepPlaceProps, __: unknown, fromEnd: number | null): void {
    const list = this.props.scroller.current;
    if (!list || fromEnd === null) return;
    list.scrollTop = list.scrollHeight - fromEnd;
    requestAnimationFrame(() => {
      list.style.overflowAnchor = "";
    });
  }

  override render() {
    return null;
  }
}
