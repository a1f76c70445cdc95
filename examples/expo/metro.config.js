// protector.json lies beside the examples; an app keeps its own in its folder and needs no such file.
const { getDefaultConfig } = require("expo/metro-config");
const config = getDefaultConfig(__dirname);
config.watchFolders = [require("path").resolve(__dirname, "..")];
module.exports = config;
