/// Longest free texts, in Unicode scalars, which is how the database counts the characters of a column.
public enum TextLimit {
    /// A sharing group's name.
    public static let sharingGroupName = 255
    /// The name of the folder in a user's cloud storage.
    public static let cloudFolderName = 256
    /// A device's token at its push service; the services' own have less than a tenth of it.
    public static let pushNotificationToken = 4_096
}
