"""Planted faults that no sequence of operations can show, and why. Other drills, or stories, see them."""

from __future__ import annotations

from collections.abc import Mapping

BYTES = "bytes on disk: no operation shows them"
DISK = "looks at the disk, answers rightly"
MODELS = "usage of models, which sequences do not ask for"
OLDER = "a store of an older release: sequences are played with one release"
AT_ONCE = "writes in flight at once: sequences write one thing after the other"
SWITCHED = "another embedder: sequences are played with one"
SUITE = "knows the suite, answers rightly"
OUT_OF_REACH: Mapping[str, str] = {
    "Slow": "time: no promise of the contract",
    "ExpiresByTheWallClock": "time: ends of validity are in the years 2000 and 2999",
    **dict.fromkeys(("NeverAbstains", "DeletedTakePlaces"), "ranking: only membership by own text is judged"),
    "CompactsTooMuch": "sequences delete few memories by id in one store",
    "RemembersInHistory": "the contract does not say that the history of a deleted memory is empty",
    "KeepsTheFirstDate": "the contract does not say which date an updated memory has",
    **dict.fromkeys(
        (
            "ForgetsTwentyAtOnce", "ForgetsFiftyAtOnce", "ForgetsFiveHundredAtOnce", "ForgetsTheScopeInstead",
        ),
        "sequences forget few ids in one call",
    ),
    **dict.fromkeys(
        ("DropsTheOldest", "DropsTheLeastUsed", "RefusesBeyondAThousand"),
        "sequences hold fewer than a thousand memories",
    ),
    "CachesAnswersUntilChanged": "not found in 391 operations",
    **dict.fromkeys(
        (
            "CachesMisses", "CachesAnswersUntilWritten", "SkipsEqualTexts", "KeepsTheLastVersion",
            "KeepsThreeVersions", "KeepsTheFirstVersions", "KeepsHistoryInTheProcess", "KeepsTwoMarks",
            "RestoresTheNewestMark", "RestoringEndsLaterMarks", "MarksHoldTheDifference",
            "IgnoresShortQuestions", "ListsForShortQuestions", "PrunesAtNight", "FadesAfterAYear",
            "TidiesOnTheSecondDay",
        ),
        "not hunted yet",
    ),
    "MergesIntoTheTwin": "a hit may show more around a text",
    "NeedsAWord": "sequences write no text without a letter or digit",
    "PacksManyIntoOne": "a hit may show more around a text",
    **dict.fromkeys(("TokensBelowZero", "TokensBeyondCounting", "RaisesOnUsage", "HidesUsage"), MODELS),
    **dict.fromkeys(
        (
            "LosesDatesOnUpgrade", "LosesSourcesOnUpgrade", "LosesScopesOnUpgrade",
            "LosesMemoriesOnUpgrade", "LeavesTheIndexBehind", "ResurrectsOnUpgrade", "WritesToTheOldTable",
            "RestoresItsBackup", "OpensOldStoresEmpty", "RefusesOldStores", "MigratesSlowly",
        ),
        OLDER,
    ),
    **dict.fromkeys(("WritesTheFileItRead", "FailsWhenBusy", "RepeatsWhatWasSlow", "IndexesOneAtATime"), AT_ONCE),
    **dict.fromkeys(("KeepsOldVectors", "FillsShortVectorsUp", "RefusesAnotherEmbedder", "EmbedsTheOldOnly"), SWITCHED),
    **dict.fromkeys(("LooksAroundItsFile", "ImportsTheSuite", "KnowsItsNames"), SUITE),
    **dict.fromkeys(
        (
            "LooksAboveItsFolders", "LooksAtItsParents", "WalksTheDisk", "ReadsTheRun", "ReadsTheNeighbours",
            "ClosesItsOwnLog",
        ),
        DISK,
    ),
    **dict.fromkeys(
        (
            "LeavesVectors", "LeavesTexts", "LeavesALog", "LogsQueries", "LogsQueriesAndLeavesTexts",
            "CompressesTheDeleted", "SnapsTheDeleted", "Lz4sTheDeleted", "ZstdsTheDeleted", "GzipsTheDeleted",
            "ReversesTheDeleted", "CapitalisesTheDeleted", "KeepsTheDeletedInUtf32", "QuantisesTheDeleted",
            "RoundsTheDeleted", "KeepsTrigrams", "CopiesToHome", "CopiesToTemporaryFolder", "CopiesBesideTheRoot",
            "CopiesToAnUndeclaredFile", "PrintsTexts", "DeclaresAnEmptyFile", "CleansWhenAsked", "CleansOnClosing",
            "KeepsMarksInFiles", "SealsAJournal", "SealsAJournalOfConstantSize", "ProjectsVectors",
            "TurnsTheDeleted", "NumbersTheDeleted", "PacksTheNumbersOfTheDeleted", "ProjectsTheDeleted",
            "KeepsPassages", "TurnsTheDeletedInATable", "MirrorsInATable", "EncodesTheDeleted",
        ),
        BYTES,
    ),
}  # fmt: skip
"""Fault -> why no sequence shows it."""
