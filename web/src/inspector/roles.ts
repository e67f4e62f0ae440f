/**
 * The roles of a table whose rows are placed one by one, and open: what no table's own elements can
 * do. The row has the focus and the keys; what is in it needs neither.
 */
export const TREEGRID = { role: "treegrid" } as const;
export const ROWS = { role: "rowgroup" } as const;
export const ROW = { role: "row" } as const;
export const CELL = { role: "gridcell" } as const;
export const HEAD = { role: "columnheader" } as const;
