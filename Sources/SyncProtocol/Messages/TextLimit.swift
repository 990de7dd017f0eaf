/// Longest free texts, in Unicode scalars, which is how the database counts the characters of a column.
public enum TextLimit {
    /// A sharing group's name.
    public static let sharingGroupName = 255
    /// The name of the folder in a user's cloud storage.
    public static let cloudFolderName = 256
}
