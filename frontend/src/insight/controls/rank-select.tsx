/** Choose a rank; profiles without a rank are named by what they are. */

import type { ListedProfile } from "../api/types";
import { t } from "../shell/words";

export function profileText(profile: Pick<ListedProfile, "profile_id" | "rank" | "source">): string {
  return profile.rank === null ? t("rank.unknown", { source: profile.source || String(profile.profile_id) }) : t("rank.number", { rank: String(profile.rank) });
}

export function rankText(rank: number | null | undefined): string {
  return rank === null || rank === undefined ? t("rank.none") : t("rank.number", { rank: String(rank) });
}

export function RankSelect({ label, profiles, value, choose, none }: {
  label: string;
  profiles: readonly ListedProfile[];
  value: number | null;
  choose: (profile: number | null) => void;
  /** What choosing none means. */
  none: string;
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value === null ? "" : String(value)} onChange={(event) => choose(event.currentTarget.value === "" ? null : Number(event.currentTarget.value))}>
        <option value="">{none}</option>
        {profiles.map((profile) => (
          <option key={profile.profile_id} value={String(profile.profile_id)}>
            {profileText(profile)}
          </option>
        ))}
      </select>
    </label>
  );
}
