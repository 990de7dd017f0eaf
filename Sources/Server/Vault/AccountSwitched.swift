/// A user has switched to another account since they were read: what was begun with the former one cannot go on, and can be
/// begun again with the present one.
public struct AccountSwitched: Error {
    public init() {}
}
