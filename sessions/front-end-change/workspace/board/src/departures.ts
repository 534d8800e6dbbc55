import type { Departure, Station } from "./types.ts";

const LINES = ["IC", "RE", "S1", "S2", "EX"];

/** The timetable's rule: a fixed pattern per station, so that the demo needs no server. */
export function departures(station: Station, stations: Station[], now: number, count = 8): Departure[] {
  const seed = [...station.code].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7);
  return Array.from({ length: count }, (_, index) => {
    const roll = (seed * (index + 3)) % 9973;
    return {
      minute: now + 4 + index * 7 + (roll % 5),
      line: LINES[roll % LINES.length],
      to: stations[roll % stations.length].code,
      platform: 1 + (roll % station.platforms),
      delay: roll % 4 === 0 ? (roll % 11) + 1 : 0,
      cancelled: roll % 13 === 0,
    };
  });
}
