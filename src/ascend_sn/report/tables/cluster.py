"""A job of many ranks as text: sentences for the screen, tables for pages."""

from __future__ import annotations

from typing import Final

from ascend_sn.analysis.communication.link_matrix import shared_rank
from ascend_sn.report.documents.cluster import Cluster, ClusterRank, Spread
from ascend_sn.report.documents.views import View
from ascend_sn.report.tables.text import TextTable, columns_of, share_cell, text_table
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable, shortened
from ascend_sn.report.words.quantities import bytes_text, count_text, duration_text, percent_text, rate_text
from ascend_sn.report.words.wording import rank_text

__all__ = ["cluster_lines", "cluster_tables", "link_table", "spread_table", "stage_table", "worst_table"]

_GROUPS_SAID: Final = 6
_ROWS: Final = 20
_NAME_WIDTH: Final = 32


def cluster_lines(cluster: Cluster, language: Language) -> list[str]:
    """Say how many ranks there are, how they are grouped, how their steps differ, and which are looked into."""
    groups = [
        language.text("cluster.group", kind=printable(group.kind), size=group.size, count=group.count)
        for group in cluster.groups[:_GROUPS_SAID]
    ]
    lines = [language.text("cluster.ranks", count=cluster.rank_count)]
    if groups:
        lines = [language.text("cluster.ranks-in", count=cluster.rank_count, groups=", ".join(groups))]
    window = next((spread for spread in cluster.spreads if spread.figure == "own"), None)
    if window is not None:
        lines.append(language.text("cluster.own", **_spread_params(window, language)))
    if cluster.straggler_count:
        lines.append(language.text("cluster.stragglers", count=cluster.straggler_count))
    if cluster.slow_link_count:
        shared = _met_by_all(cluster)
        said = {"count": cluster.slow_link_count}
        lines.append(
            language.text("cluster.slow-links", **said)
            if shared is None
            else language.text("cluster.slow-links-of", rank=shared, **said)
        )
    if cluster.lost_count:
        lines.append(language.text("cluster.lost", count=cluster.lost_count, example=printable(cluster.lost[0])))
    if cluster.detailed_ranks is not None:
        shown = ", ".join("?" if rank is None else str(rank) for rank in cluster.detailed_ranks)
        lines.append(language.text("cluster.detailed", count=len(cluster.detailed_ranks), ranks=shown))
    return lines


def cluster_tables(cluster: Cluster | None, language: Language, view: View) -> list[TextTable]:
    """Return the tables of a cluster; none where there is none."""
    if cluster is None:
        return []
    found = [
        worst_table(cluster, language, view.top_k or _ROWS),
        stage_table(cluster, language),
        link_table(cluster, language, view.top_k or _ROWS),
        spread_table(cluster, language),
    ]
    return [table for table in found if table is not None]


def worst_table(cluster: Cluster, language: Language, rows: int) -> TextTable | None:
    """The ranks that stand out, those that cost most first."""
    shown = [
        (
            rank_text(row.rank, language),
            "-" if row.stage is None else str(row.stage),
            shortened(printable(row.host or "-"), _NAME_WIDTH),
            duration_text(row.own_ns),
            "-" if row.peer_own_ns is None else duration_text(row.peer_own_ns),
            duration_text(row.caused_wait_ns),
            share_cell(row.last_ratio),
            _cause(row, language),
        )
        for row in cluster.worst[:rows]
    ]
    words = ("rank", "pipeline-stage", "host", "own-time", "others", "waited-for", "comes-last", "longer-by")
    note = language.text("cluster.worst-note", count=cluster.straggler_count)
    return text_table("cluster.worst", note, columns_of(*words), shown, language, left=(2, 7))


def stage_table(cluster: Cluster, language: Language) -> TextTable | None:
    """The pipeline stages; none where there is one only."""
    if len(cluster.stages) < 2:
        return None
    rows = [
        (
            "-" if row.stage is None else str(row.stage),
            count_text(row.ranks),
            duration_text(row.window_ns),
            *(
                percent_text(part / row.window_ns) if row.window_ns else "-"
                for part in (row.compute_ns, row.exposed_comm_ns, row.free_ns)
            ),
            share_cell(row.bubble_ratio),
            share_cell(row.ideal_ratio),
        )
        for row in cluster.stages
    ]
    columns = (
        *columns_of("pipeline-stage", "ranks", "step"),
        "part.compute_ns",
        "part.exposed_comm_ns",
        "part.free_ns",
        *columns_of("bubble", "ideal-bubble"),
    )
    return text_table("cluster.stages", language.text("cluster.stages-note"), columns, rows, language)


def link_table(cluster: Cluster, language: Language, rows: int) -> TextTable | None:
    """Pairs of ranks whose bandwidth stands out."""
    shown = [
        (
            f"{row.src_rank} > {row.dst_rank}",
            row.transport or "-",
            rate_text(row.bandwidth_bytes_per_s),
            rate_text(row.usual_bytes_per_s),
            language.text(f"pattern.{row.pattern}"),
        )
        for row in cluster.slow_links[:rows]
    ]
    words = ("pair", "transport", "bandwidth", "others", "pattern")
    note = language.text("cluster.links-note", count=cluster.slow_link_count)
    return text_table("cluster.links", note, columns_of(*words), shown, language, left=(1, 4))


def spread_table(cluster: Cluster, language: Language) -> TextTable | None:
    """How figures differ between the ranks."""
    rows = []
    for spread in cluster.spreads:
        said = _spread_params(spread, language)
        low, high = f"{said['low']} ({said['low_rank']})", f"{said['high']} ({said['high_rank']})"
        rows.append((language.text(f"figure.{spread.figure}"), low, str(said["middle"]), high))
    words = ("figure", "lowest", "middle", "highest")
    return text_table("cluster.spreads", language.text("cluster.spreads-note"), columns_of(*words), rows, language)


def _spread_params(spread: Spread, language: Language) -> dict[str, str]:
    shown = bytes_text if spread.figure == "memory_peak" else duration_text
    return {
        "low": shown(spread.lowest),
        "low_rank": rank_text(spread.lowest_rank, language),
        "middle": shown(spread.middle),
        "high": shown(spread.highest),
        "high_rank": rank_text(spread.highest_rank, language),
    }


def _met_by_all(cluster: Cluster) -> int | None:
    """The rank that every slow pair has; None where there is none, or where only one pair is known."""
    links = cluster.slow_links
    if cluster.slow_link_count > len(links) or any(link.rank_scope != "global" for link in links):
        return None
    return shared_rank([(link.src_rank, link.dst_rank) for link in links])


def _cause(row: ClusterRank, language: Language) -> str:
    if row.cause is None or row.excess_ns is None:
        return "-"
    return f"{language.text(f'cause.{row.cause}')} {duration_text(row.excess_ns)}"
