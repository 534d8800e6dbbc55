export type Locale = "en" | "de";

export type Station = {
  code: string;
  names: Record<string, string>;
  platforms: number;
  position: [number, number];
};

export type Departure = {
  minute: number;
  line: string;
  to: string;
  platform: number;
  delay: number;
  cancelled?: boolean;
};
