// The app's entry: the protector is put in place before anything listens.
import { protect, storeIn } from "deeprotect/expo";
import { registerRootComponent } from "expo";
import { getRandomValues } from "expo-crypto";
import Storage from "expo-sqlite/kv-store";
import protector from "../protector.json";
import App from "./App";

protect(protector, { random: getRandomValues, store: storeIn(Storage) });
registerRootComponent(App);
