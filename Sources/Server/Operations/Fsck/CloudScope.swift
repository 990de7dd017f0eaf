public import SyncProtocol

/// The scope of a check of the clouds.
public enum CloudScope: Sendable {
    /// Every owner's folder, in the order of their numbers.
    case allFolders
    case folder(of: UserID)
    /// The objects of one group's files.
    case group(SharingGroupUUID)
    /// Randomly chosen files, of all owners or of one.
    case sample(SampleSize, owner: UserID?)

    /// Whether folders are listed, which also finds unreferenced objects.
    var listsFolders: Bool {
        switch self {
        case .allFolders, .folder: true
        case .group, .sample: false
        }
    }
}

/// The size of a random sample of files.
public enum SampleSize: Equatable, Sendable {
    case files(Int)
    /// A percentage of all files with objects.
    case percent(Int)

    /// The limit for the files of one sample, which are held in memory.
    public static let maximumFiles = 100_000

    /// Parses `200` or `5%`; `nil` for other texts, and above ``maximumFiles`` or 100 percent.
    public init?(_ text: String) {
        let digits = text.hasSuffix("%") ? text.dropLast() : Substring(text)
        guard (1...9).contains(digits.utf8.count), let number = Int(digits), number > 0 else { return nil }
        if text.hasSuffix("%") {
            guard number <= 100 else { return nil }
            self = .percent(number)
        } else {
            guard number <= Self.maximumFiles else { return nil }
            self = .files(number)
        }
    }

    /// The number out of `total` files, rounded up.
    func count(of total: Int) -> Int {
        switch self {
        case .files(let count): min(count, total)
        case .percent(let percent): min(Self.maximumFiles, (total * percent + 99) / 100)
        }
    }
}
