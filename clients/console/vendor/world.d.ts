export const SCALE: number;
export const LAND: number[][][];
export const BORDERS: number[][];
