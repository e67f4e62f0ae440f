/**
 * ARIA roles of a virtualized table with expandable rows, which native table elements do not support.
 * The row has the focus and handles the keys; its cells need neither.
 */
export const TREEGRID = { role: "treegrid" } as const;
export const ROWS = { role: "rowgroup" } as const;
export const ROW = { role: "row" } as const;
export const CELL = { role: "gridcell" } as const;
export const HEAD = { role: "columnheader" } as const;

/** ARIA roles of a virtualized tree. */
export const TREE = { role: "tree" } as const;
export const TREEITEM = { role: "treeitem" } as const;
