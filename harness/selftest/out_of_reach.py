"""Planted faults that no sequence of operations can show, and why. Other drills, or stories, see them."""

from __future__ import annotations

from collections.abc import Mapping

BYTES = "bytes on disk: no operation shows them"
DISK = "looks at the disk, answers rightly"
MODELS = "usage of models, which sequences do not ask for"
OLDER = "a store of an older release: sequences are played with one release"
AT_ONCE = "writes in flight at once: sequences write one thing after the other"
SWITCHED = "another embedder: sequences are played with one"
NAMES = "names as teams have them: sequences use others, and 1,000 operations do not find it"
TEXTS = "notes as engineers write them: sequences write plainer ones, and 1,000 operations do not find it"
ENDS = "dates: sequences write one clock and far ends, and 1,000 operations do not find it"
UNFOUND = "4,000 operations do not find it"
SELDOM = "1,000 operations do not find it"
SUITE = "knows the suite, answers rightly"
OUT_OF_REACH: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "Slow", "SlowNowAndThen", "SlowToStart", "SlowToWrite", "SlowToDelete", "SlowToUpdate", "SlowToList",
        ),
        "time: no promise of the contract",
    ),
    **dict.fromkeys(("WorksTooHard", "CountsItsAnswers"), "cost: no promise of the contract"),
    "ExpiresByTheWallClock": "time: ends of validity are in the years 2000 and 2999",
    **dict.fromkeys(
        (
            "WarnsOfEverything", "WarnsOfMovedLines", "NamesNobody", "ComparesLinesByNumber", "FollowsNoRename",
            "KeepsTheFirstCheckout",
        ),
        "verdicts: sequences ask what comes back, not what the store says of it"),
    **dict.fromkeys(
        (
            "NeverAbstains", "NeverAbstainsWithAFilter", "NeverAbstainsInAFile", "NeverAbstainsForAUser",
            "NeverAbstainsOfThePast", "DeletedTakePlaces", "PrefersTheSameBeginning", "PrefersTheNewestOfAFile",
            "PrefersTheUsersOwn", "IndexesTheFirstChunk", "CutsLongQuestions", "BringsFive", "BringsTen",
            "BringsTwenty", "BringsTwentyFive", "BringsThirty", "BringsFifty",
        ),
        "ranking: only membership by own text is judged"),
    **dict.fromkeys(
        (
            "CompactionDropsTheEnded", "CompactionLosesTheEnds", "CompactionDropsTheSnapshots",
            "CompactionLosesTheKinds", "CompactionLosesTheSources", "CompactionLosesTheConfidences",
            "CompactionLosesTheDates", "CompactionLosesTheHistories", "CompactionLosesTheUsers",
        ),
        "sequences compact nothing",
    ),
    **dict.fromkeys(
        ("DemandsTheQuoted", "ReadsFieldsInQuestions", "ExcludesWhatComesAfterNot"),
        "sequences ask by own text and nothing else",
    ),
    **dict.fromkeys(
        (
            "CutsLongDocuments", "CutsLongDocumentsAtSixteenThousand", "DropsTheMiddleOfLongDocuments",
            "CutsLongDocumentsAtABlob", "CountsLengthsInTwoBytes", "AcknowledgesLongDocuments",
        ),
        "sequences write 4,000 characters at most",
    ),
    **dict.fromkeys(
        ("DeletesThenAdds", "AddsThenDeletes", "RewritesTheTextFirst", "RewritesTheFieldsFirst"),
        "sequences kill between calls",
    ),
    **dict.fromkeys(
        ("ForgetsAllForNoIds", "TakesBeginningsOfIds", "TakesAnEmptyIdForAny"),
        "sequences use ids that they were given, and one of their shape",
    ),
    **dict.fromkeys(
        (
            "ForgetsTheNextForTwice", "ForgetsNothingNamedTwice", "RaisesForAnIdNamedTwice",
            "AnswersOnceForAnIdNamedTwice", "RefusesToSupersedeTwice",
            "SupersedesNothingNamedTwice", "UnmarksWhatIsNamedTwice",
        ),
        "sequences name no id twice in a call",
    ),
    **dict.fromkeys(
        ("DropsFullConfidence", "RoundsConfidence", "CutsCommitsAtForty", "TidiesSourcePaths", "StripsRootsOfPaths"),
        "sequences write short sources and confidences of two digits",
    ),
    **dict.fromkeys(
        (
            "ForgetsItsIndexAfterAWhile", "NumbersScopesTo256", "NumbersScopesToAHundred", "LastScopesShareOne",
            "OldScopesShareOne", "LosesOldScopes",
        ),
        "sequences write to a few scopes",
    ),
    "SuccessorStaysWithTheAsker": "sequences supersede from the scope that the successor names",
    **dict.fromkeys(
        (
            "FollowsOneOfAFile", "DeletesWhatMoved", "StopsAfterTheFirst", "WritesBesideTheOld", "ChangesTheSourceOnly",
            "FollowsEveryBranch", "KeepsWhatIsGone", "RenewsAtEachSession", "ExpiresAllByOneRule", "ExpiresByToday",
            "CountsMonthsAsWeeks", "LetsNothingThrough", "ForgetsWhatWaits", "DoubtsWhatIsNotRated",
            "ReplacesTheFirstFound", "ReplacesTheSameFile", "ReplacesAllAlike", "ReplacesNothing",
            "LooksUpForNothing", "ReplacesTheNewest", "ReplacesWhatIsFoundFirst", "MarksNothing", "MarksTheNewOne",
            "DeletesInsteadOfMarking", "ReviewsNothing", "ReleasesAtTheNextSession", "ReleasesToItsOwnWords",
        ),
        "ways of writing: the store is sound, and sequences are nobody's memory",
    ),
    "CompactsTooMuch": "sequences delete few memories by id in one store",
    "RemembersInHistory": "the contract does not say that the history of a deleted memory is empty",
    "KeepsTheFirstDate": "the contract does not say which date an updated memory has",
    **dict.fromkeys(
        ("DropsTheOldest", "DropsTheLeastUsed", "RefusesBeyondAThousand"),
        "sequences hold fewer than a thousand memories",
    ),
    **dict.fromkeys(
        (
            "DropsTheOwner", "KeepsTheOwnerOnly", "DropsTheBranchFolder", "TidiesNames", "CutsAddresses",
            "KnowsTheDomainOnly", "DropsAddressTags", "ReadsReleasesAsNumbers", "ReadsNamesAsNumbers",
            "CutsReleases", "TakesMainForNone", "TakesNoneForMain", "ComposesNames",
            "DropsWhatIsNotShown", "LowersOrganisations", "MakesSlugs", "TakesUnderscoresForDashes",
            "FlattensSlashes", "ComparesWords", "KeepsTheEndOfNames", "LeavesOutTheMiddle", "DropsGitSuffix",
            "KnowsHeads", "KnowsRemotes", "DropsBrackets", "StemsNames", "SpellsSharpS", "DotsEveryI", "DropsTildes",
            "DropsTrailingSlashes", "TurnsBackslashes", "ReadsNamesAsBooleans", "TakesUndefinedForNone", "DropsAts",
            "EndsNamesAtCommas", "EndsNamesAtSemicolons",
        ),
        NAMES,
    ),
    **dict.fromkeys(
        (
            "RoundsDecimals", "DropsLeadingZeros", "DropsFlags", "DropsNegations", "DropsSigns",
            "RewritesUnits", "KeepsTheFirstSentence", "TrimsPunctuation", "MasksAddresses",
            "MasksCredentials", "MasksHosts", "StraightensQuotes", "DropsCodeBlocks", "DropsTables",
            "DropsMarkdown", "DropsRepeatedLines", "DropsParentheses", "DropsQueries", "TidiesPaths",
            "ShortensDigests", "WritesNumbersAsFloats", "RewritesWithRoundedNumbers",
            "UpdatesTheFirstSentence", "RecallsOneLine", "RestoresWithoutZeros", "CutsSources", "PrefersHttps",
            "RenumbersLists", "ReserialisesJson", "SplitsAtUnicodeLines", "FixesMojibake", "DecodesUnicodeEscapes",
            "TakesTags", "TakesACategory", "EndsAtARule", "DropsFrontMatter", "UnwrapsLinks", "DropsImages",
            "DropsPrivate", "DropsSpeakers", "DropsSlashComments", "DropsTrailingSlashesOfLinks",
            "DropsVariationSelectors", "CorrectsSpelling",
        ),
        TEXTS,
    ),
    **dict.fromkeys(
        (
            "TakesEveryClockForUtc", "KnowsNoSummer", "StoresTheClockAtHome", "DropsSeconds",
            "KnowsNoLeapDay", "EndsMonthsAtTheThirtieth", "DatesFromTheEpoch", "RestoresUtc",
            "EndsADayEarly", "EndsADayLate", "EndsAMonthLate", "EndsAYearEarly", "EndsAYearLate",
            "EndsByTheClockThere", "EndsAtMidnight", "EndsOnTheFirstOfMarch",
            "EndsBeforeTheEndOfTheMonth", "EndsBefore2038", "ComparesClocks",
            "EndsOnTheDayAfterReopening", "MovesTheEndOnUpdate", "HoldsAtItsEnd", "WritesTwoDigits",
            "WaitsForItsClock", "IndexesAtNight",
        ),
        ENDS,
    ),
    **dict.fromkeys(
        (
            "UpdatesIntoTheAskersScope",
            "RestoresTextsNotVectors", "ExpiredTakePlaces",
            "IndexesTheBeginning", "StopsAtABlank", "ShiftsIdsAtABlank",
            "TakesAKnownTextForDone", "ReplaysUpdatesInDisorder", "FirstComesBackForItsHeir", "DeletesTheLastTextOnly",
            "RefusesDeletedTexts", "NumbersMarksFromTheRestored", "ErasesFromTheNewestMark",
            "IndexesTheFirstUpdateOnly",
            "UndoesByUpdatingBack", "DeletesOnceMoreOnOpening", "ForgetsAHundred",
            "SkipsWhatARestoreTookAway", "AcknowledgesWhatARestoreTookAway", "SkipsItUntilReopened",
            "SkipsUpdatesOfCase", "SkipsUpdatesOfConfidence", "SkipsUpdatesByLength", "RevivesAfterTenDays",
            "EndedTakePlacesOfAFilter", "MarkLosesTheKind", "ForgottenHeirRevivesTheOld", "RefreshesByCount",
        ),
        SELDOM,
    ),
    **dict.fromkeys(
        (
            "DoubtsWhatHasNoConfidence", "FiltersAfterCutting", "TakesAPathForAPrefix", "FiltersByFileName",
            "FoldsPaths", "FilesOnce", "FiltersFourTimesAsMany", "FiltersTenTimesAsMany", "ReadsPathsAsPatterns",
            "MarkedTakePlaces", "MarkStandsInTheText", "KeepsTheMarkedForTheRecord", "ForgetsAScopeButItsEnded",
            "RestoresWithoutTheMarks", "MarksOnce", "LaterMarkWins", "UnmarksOnce", "FirstMarkWins",
            "MarksOutliveARestore", "MarksLeaveOutTheEnded", "ForgetsFiftyAtOnce", "ForgetsFiveHundredAtOnce",
            "ForgetsTheScopeInstead", "KeepsTenVersions", "UpdatesBlendVectors", "FiltersTooLate", "ForgetsAllForNone",
            "CachesMisses", "KeepsThreeVersions", "MarksHoldTheDifference", "IgnoresShortQuestions", "PrunesAtNight",
            "FadesAfterAYear", "TidiesOnTheSecondDay", "SwallowsThrottling", "ReadsThroughARestore",
            "KeepsUsersOutOfRepositories", "KeepsOrganisationsOutOfBranches", "ReadsTheFirstLine", "ReadsTheLastLine",
            "AsksInAscii", "ComparesInAscii", "FoldsQuestionsOnly", "FoldsTextsInAscii", "ReadsByIdUntilItWrites",
            "TellsHistoryUntilItDeletes", "SwallowsTextsOfTheRepository", "TellsItsOwnVersions",
            "StoresNoEndedTextAgain", "TellsHistoryByText", "NestsItsHistory", "KeepsEditsOnTheBranch",
        ),
        UNFOUND,
    ),
    "EndsInOneTableOnly": ENDS,
    "MergesIntoTheTwin": "a hit may show more around a text",
    "NeedsAWord": "sequences write no text without a letter or digit",
    "PacksManyIntoOne": "a hit may show more around a text",
    **dict.fromkeys(("TokensBelowZero", "TokensBeyondCounting", "RaisesOnUsage", "HidesUsage"), MODELS),
    **dict.fromkeys(
        (
            "LosesDatesOnUpgrade", "LosesSourcesOnUpgrade", "LosesScopesOnUpgrade",
            "LosesMemoriesOnUpgrade", "LeavesTheIndexBehind", "ResurrectsOnUpgrade", "WritesToTheOldTable",
            "RestoresItsBackup", "OpensOldStoresEmpty", "RefusesOldStores", "MigratesSlowly",
            "TakesClocksForUtcOnUpgrade", "RoundsDecimalsOnUpgrade", "PairsAnewOnUpgrade", "LosesConfidenceOnUpgrade",
            "RevivesTheEndedOnUpgrade", "ForgetsEndedOnUpgrade", "LosesHistoriesOnUpgrade",
            "DropsTheSnapshotsOnUpgrade", "RestoresNothingAfterUpgrade",
        ),
        OLDER,
    ),
    **dict.fromkeys(
        (
            "WritesTheFileItRead", "FailsWhenBusy", "RepeatsWhatWasSlow", "IndexesOneAtATime",
            "RewritesTheFileOnForget", "CrossesWriters",
        ),
        AT_ONCE,
    ),
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
            "ErasesTheLastVersionOnly",
            "KeepsPassages", "TurnsTheDeletedInATable", "MirrorsInATable", "EncodesTheDeleted",
        ),
        BYTES,
    ),
}  # fmt: skip
"""Fault -> why no sequence shows it."""
