export const SCALE: number;
export const PLACES: string;
