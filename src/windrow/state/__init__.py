"""Window contents and intermediate results: rows under keys, in the structure that their update pattern asks for.

All structures answer to the same few verbs (`Structure`); they differ in how they find what has ended. Rows lie in
slots (`RowArena`), but in the FIFO of basic windows, where they leave in the order in which they came and lie side by
side. Snapshots come in pieces that are written once.
"""

from collections.abc import Callable

from windrow.state.calendar_queue import CalendarQueue
from windrow.state.fifo_of_basic_windows import FifoOfBasicWindows
from windrow.state.hash_on_row_key import HashOnRowKey
from windrow.state.insertion_ordered_list import InsertionOrderedList
from windrow.state.snapshot import Part, Piece, Snapshot, restore_parts, snapshot_parts
from windrow.state.structure import KeyedRows, Matches, Structure, StructureKind

STRUCTURES: dict[StructureKind, Callable[[], Structure]] = {
    StructureKind.FIFO: FifoOfBasicWindows,
    StructureKind.CALENDAR: CalendarQueue,
    StructureKind.HASH: HashOnRowKey,
    StructureKind.LIST: InsertionOrderedList,
}

__all__ = [
    "STRUCTURES",
    "CalendarQueue",
    "FifoOfBasicWindows",
    "HashOnRowKey",
    "InsertionOrderedList",
    "KeyedRows",
    "Matches",
    "Part",
    "Piece",
    "Snapshot",
    "Structure",
    "StructureKind",
    "restore_parts",
    "snapshot_parts",
]
