import type { ComponentProps } from "react";
import { hrefOf, navigate, type Route } from "@/state/route";

interface RouteLinkProps extends ComponentProps<"a"> {
  to: Route;
  /** In place of going there. */
  onOpen?: () => void;
}

/** A link inside of the page. It is a real one, so that it can be opened in another tab too. */
export const RouteLink = ({ to, onOpen = () => navigate(to), ...rest }: RouteLinkProps) => (
  <a
    href={hrefOf(to)}
    onClick={(event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      onOpen();
    }}
    {...rest}
  />
);
